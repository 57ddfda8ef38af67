//! A full verification: every record, every fault, and what is not proven all the same.
//!
//! ```text
//!  record ──▶ Walk ──verified──▶ State, Tree, commitments     (until the first fault)
//!               └────faults────▶ Report                       (to the end)
//! ```
//!
//! Nothing is ever run, and nothing recorded is believed beyond what its signature says.

use crate::chain::{Remembered, Walk};
use crate::checkpoint::Expected;
use crate::demand::Demand;
use crate::event::Body;
use crate::hash;
use crate::kept::{self, CommittedTo, Comparison, OtherContent};
use crate::merkle::Tree;
use crate::note::VerifierKey;
use crate::observation::AHEAD_MS_MAX;
use crate::state::State;
use crate::types::{Digest, Head, Leaf, LedgerId, Seq, Time};
pub use crate::verify_report::{
    Basis, By, End, FAULTS_MAX, Fault, Listed, RefusedEvent, Report, Signer, Verification,
};
use std::collections::{BTreeMap, BTreeSet};

/// What outside the ledger says where it stood.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// The head that somebody wrote down.
    pub expect: Option<Expected>,
    /// The witnesses that must have cosigned it, if it is a checkpoint.
    pub witnesses: Vec<VerifierKey>,
    /// The head that this machine verified before.
    pub view: Option<(Seq, Leaf)>,
    /// Whether the records are read elsewhere than where this machine keeps the ledger: an older
    /// copy is told as such there, and is no rollback.
    pub elsewhere: bool,
    /// The moment of the verification, where a clock is believed.
    pub now: Option<Time>,
}

/// Takes in records one by one, and tells in the end what they are.
pub struct Verifier {
    walk: Walk,
    state: State,
    tree: Tree,
    records: u64,
    intact: bool,
    faults: Listed<Fault>,
    incomplete: Vec<String>,
    not_proven: Vec<String>,
    outside: Outside,
    demand: Demand,
    first: Option<Leaf>,
    /// The last record of the intact prefix, lawful or not.
    newest: Option<(Seq, Leaf)>,
    seen_viewed: Option<Leaf>,
    last: Option<Seq>,
    dated_ahead: Listed<Seq>,
    commitments: BTreeMap<Digest, CommittedTo>,
    seen: BTreeSet<Digest>,
}

impl Verifier {
    /// A verifier that awaits the first record.
    pub fn new(mut outside: Outside) -> Verifier {
        let witnesses = std::mem::take(&mut outside.witnesses);
        Verifier {
            demand: Demand::new(outside.expect.take(), witnesses),
            walk: Walk::from_genesis(),
            state: State::new(),
            tree: Tree::new(),
            records: 0,
            intact: true,
            faults: Listed::default(),
            incomplete: Vec::new(),
            not_proven: Vec::new(),
            outside,
            first: None,
            newest: None,
            seen_viewed: None,
            last: None,
            dated_ahead: Listed::default(),
            commitments: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    /// The same verifier, which verifies no signature that is remembered as good.
    pub fn remembering(self, remembered: Remembered) -> Verifier {
        Verifier {
            walk: self.walk.remembering(remembered),
            ..self
        }
    }

    /// Takes in the record found at `seq`. After the first fault the state is left as it is.
    pub fn record(&mut self, seq: Seq, record: &[u8]) {
        self.records = self.records.saturating_add(1);
        self.last = Some(seq);
        self.note_leaf(seq, hash::leaf(record));
        match self.walk.step(seq, record) {
            Ok(event) if self.intact => {
                self.tree.add(event.leaf());
                if let Body::ProbeReceipt(receipt) = &event.event().body {
                    let commitments = kept::commitments(receipt);
                    self.commitments
                        .extend(commitments.map(|it| (it.digest, it.to)));
                }
                if self.is_ahead(event.event().time) {
                    self.dated_ahead.add(seq);
                }
                self.newest = Some((seq, event.leaf()));
                self.state.apply(&event);
                self.demand.event(seq, &self.tree, &self.state);
            }
            Ok(_) => {}
            Err(faults) => {
                for fault in faults {
                    self.fault(Some(fault.seq), fault.kind.name(), fault.kind.to_string());
                }
            }
        }
    }

    /// Notes what is wrong with what holds the records; what follows is no part of the chain.
    pub fn fault(&mut self, seq: Option<Seq>, kind: &'static str, detail: impl Into<String>) {
        self.intact = false;
        let detail = detail.into();
        self.faults.add(Fault { seq, kind, detail });
    }

    /// Notes what is known outside and not met: however much else is wrong, it is listed.
    fn fault_first(&mut self, fault: Fault) {
        self.intact = false;
        self.faults.add_first(fault);
    }

    /// Notes why there may be more than what was read.
    pub fn incomplete(&mut self, why: impl Into<String>) {
        self.incomplete.push(why.into());
    }

    /// Notes what this verification could not look at.
    pub fn not_proven(&mut self, what: impl Into<String>) {
        self.not_proven.push(what.into());
    }

    /// The state of the intact prefix.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether no fault was found so far.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    /// Every commitment of the intact prefix, ascending: what is kept under one is compared, also
    /// if it should have been erased.
    pub fn committed(&self) -> Vec<Digest> {
        self.commitments.keys().copied().collect()
    }

    /// The commitments of the intact prefix that were not erased, ascending, and to what.
    pub fn commitments(&self) -> Vec<(Digest, CommittedTo)> {
        let erased = self.state.erased();
        let all = self.commitments.iter();
        let left = all.filter(|(commitment, _)| !erased.contains_key(*commitment));
        left.map(|(commitment, to)| (*commitment, *to)).collect()
    }

    fn missing(&self) -> usize {
        // Of nothing, nothing is kept.
        self.commitments()
            .iter()
            .filter(|(commitment, to)| {
                *to != CommittedTo::Bytes(0) && !self.seen.contains(commitment)
            })
            .count()
    }

    /// Compares what is kept under a commitment; one that no event of the prefix holds is passed
    /// over.
    pub fn capture(
        &mut self,
        commitment: &Digest,
        salt: &[u8; hash::SALT_BYTES],
        bytes: Option<&[u8]>,
    ) {
        let Some(expected) = self.commitments.get(commitment).copied() else {
            return;
        };
        let found = expected.compare(commitment, salt, bytes);
        if found == Comparison::Nothing {
            return;
        }
        self.seen.insert(*commitment);
        if found == Comparison::Other {
            // The chain itself stays as intact as it is.
            self.faults.add(Fault {
                seq: None,
                kind: "capture",
                detail: OtherContent(*commitment).to_string(),
            });
        }
    }

    fn is_ahead(&self, time: Time) -> bool {
        let ahead = |now: Time| time.ms().saturating_sub(now.ms()) > AHEAD_MS_MAX;
        self.outside.now.is_some_and(ahead)
    }

    fn note_leaf(&mut self, seq: Seq, leaf: Leaf) {
        if seq == Seq::ZERO {
            self.first = Some(leaf);
        }
        self.demand.record(seq, leaf);
        if self.outside.view.is_some_and(|(viewed, _)| viewed == seq) {
            self.seen_viewed = Some(leaf);
        }
    }

    /// Holds what was read to what is known outside, and tells the result. `basis` is where trust
    /// in the root of [`Verifier::state`] comes from.
    pub fn finish(self, basis: Basis) -> Report {
        self.conclude(basis).0
    }

    /// As [`Verifier::finish`], with the state of the intact prefix.
    pub fn conclude(mut self, basis: Basis) -> (Report, State) {
        self.check_view();
        for fault in self.demand.faults(self.first).into_iter().rev() {
            self.fault_first(fault);
        }
        let head = self.head();
        let end = self.end(head.as_ref());
        let acknowledged = self.state.acknowledged();
        let mut refused = Listed::default();
        let mut unlawful = false;
        for (seq, refusal) in self.state.refused() {
            let known = acknowledged.is_some_and(|up_to| *seq <= up_to);
            unlawful |= !known;
            refused.add(RefusedEvent {
                seq: *seq,
                rule: refusal.rule.as_str(),
                detail: refusal.detail.clone(),
                acknowledged: known,
            });
        }
        let mut voided = Listed::default();
        for seq in self.state.voided() {
            voided.add(seq);
        }
        let mut clock_went_back = Listed::default();
        for seq in self.state.clock_went_back() {
            clock_went_back.add(*seq);
        }
        let result = if self.faults.total() > 0 {
            Verification::Tampered
        } else if unlawful {
            Verification::Unlawful
        } else if self.state.undetermined().is_some() {
            Verification::Undetermined
        } else if !self.incomplete.is_empty() {
            Verification::Incomplete
        } else if head.is_none() {
            Verification::Empty
        } else if basis == Basis::Unpinned {
            Verification::SelfConsistent
        } else {
            Verification::Verified
        };
        let not_proven = self.told(&end, basis, head.is_some());
        let report = Report {
            result,
            ledger: head.map(|head| head.ledger),
            events: head.map_or(0, |head| head.seq.0.saturating_add(1)),
            records: self.records,
            head,
            root: self.tree.root(),
            signer: Signer {
                basis,
                root_key: self.state.root(),
            },
            end,
            faults: self.faults,
            refused,
            voided,
            enrolled_by_compromised: self.state.authorized_by_compromised(),
            clock_went_back,
            dated_ahead: self.dated_ahead,
            undetermined: self.state.undetermined(),
            incomplete: self.incomplete,
            not_proven,
        };
        (report, self.state)
    }

    /// The head of the intact prefix. It has one even if its first event is refused, and with it
    /// all others: a chain is named by its first leaf.
    fn head(&self) -> Option<Head> {
        let ((seq, leaf), first) = self.newest.zip(self.first)?;
        let ledger = LedgerId(first.0);
        Some(Head { ledger, seq, leaf })
    }

    fn check_view(&mut self) {
        let Some((seq, expected)) = self.outside.view else {
            return;
        };
        match self.seen_viewed {
            Some(found) if found == expected => {}
            Some(found) => self.fault_first(Fault {
                seq: Some(seq),
                kind: "fork",
                detail: format!("this machine saw {expected} there, the ledger has {found}"),
            }),
            None => {
                let end = self.last.map_or("without an event".to_owned(), |last| {
                    format!("at event {last}")
                });
                let detail =
                    format!("this machine saw it up to event {seq}, the ledger ends {end}");
                if self.outside.elsewhere {
                    self.not_proven(format!("that it is the newest: {detail}"));
                } else {
                    self.fault_first(Fault {
                        seq: Some(seq),
                        kind: "rollback",
                        detail,
                    });
                }
            }
        }
    }

    /// By what the end is known, and up to which event.
    fn end(&self, head: Option<&Head>) -> End {
        let none = End {
            proven: false,
            by: By::None,
            seq: None,
        };
        let Some(head) = head else {
            return none;
        };
        let view = self.outside.view.map(|(seq, _)| seq);
        // One beyond the end was told as such, and takes nothing from a demand that is met.
        let view = view.filter(|seq| *seq <= head.seq);
        let (by, seq) = match (self.demand.seq(), view) {
            (Some(expect), Some(view)) if view > expect => (By::View, view),
            (Some(expect), _) => (self.demand.by(), expect),
            (None, Some(view)) => (By::View, view),
            (None, None) => return none,
        };
        if seq > head.seq || self.faults.total() > 0 {
            return none;
        }
        End {
            proven: seq == head.seq,
            by,
            seq: Some(seq),
        }
    }

    fn told(&mut self, end: &End, basis: Basis, has_events: bool) -> Vec<String> {
        let mut told = std::mem::take(&mut self.not_proven);
        if !has_events {
            return told;
        }
        if basis == Basis::Unpinned {
            told.push(
                "whose ledger it is: its root key is not pinned, and anyone can make a ledger"
                    .to_owned(),
            );
        }
        let older =
            self.outside.elsewhere && self.seen_viewed.is_none() && self.outside.view.is_some();
        // An older copy was told as such already.
        if !end.proven && !older {
            told.push(match end.seq {
                Some(seq) => format!(
                    "that it ends here: outside it is known up to event {seq}, and later events \
                     may have been cut off"
                ),
                None => "that it ends here: nothing outside says where it ends, and later events \
                         may have been cut off"
                    .to_owned(),
            });
        }
        let mut unfinished = self.state.unfinished();
        if let Some(first) = unfinished.next() {
            let count = unfinished.count().saturating_add(1);
            told.push(format!(
                "that every gated command ended: of {count}, the first let run by event {}, no end \
                 is recorded",
                first.seq
            ));
        }
        match self.missing() {
            0 => {}
            missing => told.push(format!(
                "what {missing} commitments stand for: the captured output is not here, and no \
                 event says that it was erased"
            )),
        }
        told.extend(
            [
                "that what was signed was true: a signer can lie at the moment of writing",
                "when it happened: times are the signer's own clock, order is that of the chain",
                "that nothing was left out before it was signed",
            ]
            .map(str::to_owned),
        );
        told
    }
}
