//! What this machine knows of the ledger that a file holds. Nothing of it is made or changed here.

use super::place::Whose;
use super::report::Failure;
use super::source::Opened;
use crate::home::folders::Folders;
use crate::home::memory::{MemoryError, Rollback};
use crate::home::own_files::OwnFiles;
use crate::home::view::{self, Seen};
use crate::types::{Leaf, LedgerId, Seq};
use crate::verify::{Fault, Report, Verifier};
use std::path::Path;

/// The faults by which a file differs from what this machine saw of it, and not from itself.
const OF_MEMORY: [&str; 3] = ["rollback", "fork", "other_ledger"];
/// The faults by which it differs from what the command line demands.
const OF_DEMAND: [&str; 3] = ["expect", "checkpoint", "witness"];
/// What to type of one's own ledger that only memory speaks against.
pub const RESTORE: &str = "restore the newer file, or accept this one with: \
                           handoff acknowledge --rollback --reason WHY";

/// What speaks against a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// What this machine saw of it before.
    Memory,
    /// What the command line demands.
    Demand,
    /// What it holds itself.
    Contents,
}

impl Against {
    /// What a fault says it is.
    pub fn of(fault: &Fault) -> Against {
        if OF_MEMORY.contains(&fault.kind) {
            Against::Memory
        } else if OF_DEMAND.contains(&fault.kind) {
            Against::Demand
        } else {
            Against::Contents
        }
    }

    /// Whether it is the only thing that speaks against a ledger against which something does.
    pub fn is_all_of(self, report: &Report) -> bool {
        let faults = report.faults.items();
        !faults.is_empty() && faults.iter().all(|fault| Against::of(fault) == self)
    }
}

/// What is known of it.
#[derive(Default)]
pub struct Known {
    /// The head that was verified last.
    pub head: Option<(Seq, Leaf)>,
    /// The rollbacks that were accepted.
    pub rollbacks: Vec<Rollback>,
    /// What is not known though it should be.
    not_proven: Vec<String>,
    /// That the file held another ledger: the kind of the fault, and its detail.
    pub fault: Option<(&'static str, String)>,
}

impl Known {
    /// What is known of the ledger that was opened from `path`, an absolute one.
    ///
    /// # Errors
    /// If the source cannot be read, which says nothing of the ledger.
    pub fn of(
        folders: &Folders,
        opened: &Opened,
        path: &Path,
        whose: Whose,
    ) -> Result<Known, Failure> {
        let mut known = Known::default();
        let listed = match whose {
            Whose::Own => listed(folders, path),
            Whose::Unknown => Ok(None),
        };
        let listed = listed.unwrap_or_else(|error| {
            known.doubt(&error.to_string());
            None
        });
        let Some(first) = opened.first()? else {
            let emptied = |held| format!("it held ledger {held}, and has no event now");
            known.fault = listed.map(|held| ("rollback", emptied(held)));
            return Ok(known);
        };
        let found = LedgerId(first.leaf().0);
        match view::seen(folders, &found) {
            Ok(Seen {
                head,
                rollbacks,
                doubt,
            }) => {
                known.head = head.map(|head| (head.seq, head.leaf));
                known.rollbacks = rollbacks;
                match doubt {
                    Some(error) => known.doubt(&unread(&error)),
                    None if head.is_none() && whose == Whose::Own => {
                        known.doubt("what this machine remembers of it is not there");
                    }
                    None => {}
                }
            }
            Err(error) => known.doubt(&unread(&error)),
        }
        let replaced = |held| format!("it held ledger {held}, and holds {found} now");
        known.fault = listed
            .filter(|held| *held != found)
            .map(|held| ("other_ledger", replaced(held)));
        Ok(known)
    }

    /// Notes that more may be known than could be learned.
    pub fn doubt(&mut self, why: &str) {
        let what = format!("that it was not rolled back: {why}");
        self.not_proven.push(what);
    }

    /// Whether a ledger is what this machine knows it as, if the event at the head that was
    /// verified last has that leaf.
    pub fn is_met(&self, leaf: Option<Leaf>) -> bool {
        let head = self.head.map(|(_, leaf)| leaf);
        self.fault.is_none() && self.not_proven.is_empty() && head.is_some() && head == leaf
    }

    /// Tells a verifier, after the records, what is known beyond the head.
    pub fn tell(&self, verifier: &mut Verifier) {
        if let Some((kind, detail)) = &self.fault {
            verifier.fault(Some(Seq::ZERO), kind, detail.clone());
        }
        for what in &self.not_proven {
            verifier.not_proven(what.clone());
        }
    }
}

fn unread(error: &impl std::fmt::Display) -> String {
    format!("what this machine remembers of it cannot be read ({error})")
}

/// The ledger that a file of this machine's own held.
fn listed(folders: &Folders, path: &Path) -> Result<Option<LedgerId>, MemoryError> {
    match path.canonicalize() {
        Ok(path) => OwnFiles::of(folders)?.ledger_at(&path),
        // What is not there holds nothing.
        Err(_) => Ok(None),
    }
}
