//! What this machine knows of the ledger that a file holds. Nothing of it is made or changed here.

use super::place::Whose;
use super::report::Failure;
use super::source::Opened;
use crate::home::memory::{Memory, OwnFiles, Remembered, Rollback};
use crate::home::paths::Folders;
use crate::types::{Leaf, LedgerId, Seq};
use crate::verify::Verifier;
use std::path::Path;

/// What is known of it.
#[derive(Default)]
pub struct Known {
    /// The head that was verified last.
    pub head: Option<(Seq, Leaf)>,
    /// The rollbacks that were accepted.
    pub rollbacks: Vec<Rollback>,
    /// Why more may have been verified.
    unread: Option<String>,
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
        let listed = match whose {
            Whose::Own => listed(folders, path),
            Whose::Unknown => None,
        };
        let Some(first) = opened.first()? else {
            let emptied = |held| format!("it held ledger {held}, and has no event now");
            let fault = listed.map(|held| ("rollback", emptied(held)));
            return Ok(Known {
                fault,
                ..Known::default()
            });
        };
        let found = LedgerId(first.leaf().0);
        let memory = Memory::of(folders, &found).map_err(|error| error.to_string());
        let remembered = memory.and_then(|it| it.read().map_err(|error| error.to_string()));
        let mut known = Known::default();
        match remembered {
            Ok(Some(Remembered { head, rollbacks })) => {
                (known.head, known.rollbacks) = (Some((head.seq, head.leaf)), rollbacks);
            }
            Ok(None) if whose == Whose::Own => known.unread = Some("is not there".to_owned()),
            Ok(None) => {}
            Err(why) => known.unread = Some(format!("cannot be read ({why})")),
        }
        let replaced = |held| format!("it held ledger {held}, and holds {found} now");
        known.fault = listed
            .filter(|held| *held != found)
            .map(|held| ("other_ledger", replaced(held)));
        Ok(known)
    }

    /// Tells a verifier, after the records, what is known beyond the head.
    pub fn tell(&self, verifier: &mut Verifier) {
        if let Some((kind, detail)) = &self.fault {
            verifier.fault(Some(Seq::ZERO), kind, detail.clone());
        }
        if let Some(why) = &self.unread {
            verifier.not_proven(format!(
                "that it was not rolled back: what this machine remembers of it {why}"
            ));
        }
    }
}

/// The ledger that a file of this machine's own held.
fn listed(folders: &Folders, path: &Path) -> Option<LedgerId> {
    let own = OwnFiles::of(folders).ok()?;
    own.ledger_at(&path.canonicalize().ok()?)
}
