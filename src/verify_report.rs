//! What a verification tells.

use crate::lists::closed;
use crate::types::{Digest, Head, LedgerId, PublicKey, Seq};

/// Most faults, refused events and void events that are listed; their number is told whole.
pub const FAULTS_MAX: usize = 1_000;

closed! {
    /// What a ledger was found to be: the first that applies.
    Verification {
        /// It could not be looked at.
        Error = "error",
        /// It is not the chain that was signed, or not the one known outside.
        Tampered = "tampered",
        /// It holds refused events that the root has not acknowledged.
        Unlawful = "unlawful",
        /// It was upgraded beyond what this program can judge.
        Undetermined = "undetermined",
        /// There may be more of it than what was read.
        Incomplete = "incomplete",
        /// It has no event.
        Empty = "empty",
        /// It is one chain, signed by a root that nobody vouches for.
        SelfConsistent = "self_consistent",
        /// It is one chain, signed under a root that is trusted.
        Verified = "verified",
    }

    /// Where trust in a root key comes from.
    Basis {
        /// A pin of this user.
        Pinned = "pinned",
        /// `--trust` or `HANDOFF_TRUST`.
        Given = "given",
        /// Nowhere.
        Unpinned = "unpinned",
    }

    /// What says where the ledger stood.
    By {
        /// A head that somebody wrote down.
        Expect = "expect",
        /// A checkpoint that every witness named cosigned.
        Witness = "witness",
        /// What this machine verified before.
        View = "view",
        /// Nothing.
        None = "none",
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// The event at which it is found, if it is of one.
    pub seq: Option<Seq>,
    /// Its stable name.
    pub kind: &'static str,
    /// What was expected and found.
    pub detail: String,
}

/// An event that the rules do not permit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RefusedEvent {
    /// The event.
    pub seq: Seq,
    /// The rule it breaks.
    pub rule: &'static str,
    /// How.
    pub detail: String,
    /// Whether the root said that it knows.
    pub acknowledged: bool,
}

/// A list of at most [`FAULTS_MAX`] items, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    items: Vec<T>,
    total: u64,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed {
            items: Vec::new(),
            total: 0,
        }
    }
}

impl<T> Listed<T> {
    /// Adds an item; beyond the limit it is only counted.
    pub fn add(&mut self, item: T) {
        self.total = self.total.saturating_add(1);
        if self.items.len() < FAULTS_MAX {
            self.items.push(item);
        }
    }

    /// Adds an item before all others, of which the last is only counted if they are too many.
    pub fn add_first(&mut self, item: T) {
        self.total = self.total.saturating_add(1);
        self.items.insert(0, item);
        self.items.truncate(FAULTS_MAX);
    }

    /// The first of them.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Who the chain is signed under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Signer {
    /// Where trust in the root comes from.
    pub basis: Basis,
    /// The root key, if there is an intact first event.
    pub root_key: Option<PublicKey>,
}

/// Whether what is outside the ledger says that it ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct End {
    /// Whether its last event is known outside.
    pub proven: bool,
    /// By what.
    pub by: By,
    /// Up to which event it is known outside.
    pub seq: Option<Seq>,
}

/// What a verification found. Ledger, head, root and state are those of the intact prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The result.
    pub result: Verification,
    /// Its id.
    pub ledger: Option<LedgerId>,
    /// Events of the intact prefix.
    pub events: u64,
    /// Records found, intact or not.
    pub records: u64,
    /// The head of the intact prefix.
    pub head: Option<Head>,
    /// RFC 6962 root over the leaves of the intact prefix.
    pub root: Option<Digest>,
    /// Who it is signed under.
    pub signer: Signer,
    /// Whether its end is known.
    pub end: End,
    /// What is wrong.
    pub faults: Listed<Fault>,
    /// The events that the rules do not permit.
    pub refused: Listed<RefusedEvent>,
    /// The events that a revocation voids.
    pub voided: Listed<Seq>,
    /// The keys that an admin, revoked since, authorised while it was compromised.
    pub enrolled_by_compromised: Vec<PublicKey>,
    /// Events dated before the one before them: a warning.
    pub clock_went_back: Listed<Seq>,
    /// Events dated more than five minutes after the verification: a warning.
    pub dated_ahead: Listed<Seq>,
    /// The upgrade beyond which nothing is judged.
    pub undetermined: Option<Seq>,
    /// Why there may be more than what was read.
    pub incomplete: Vec<String>,
    /// What is not proven all the same.
    pub not_proven: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong with what was read, and it is all there is. The result alone does
    /// not say so: it is the first of several that may apply.
    pub fn is_whole(&self) -> bool {
        self.faults.total() == 0 && self.incomplete.is_empty() && self.head.is_some()
    }

    /// Whether it has a root key, and somebody vouches for that.
    pub fn is_trusted(&self) -> bool {
        self.signer.root_key.is_some() && self.signer.basis != Basis::Unpinned
    }
}
