//! What a state is made of: what was lawfully said, and what became of it.

use crate::event::{
    AmbientDeclared, BoundaryReverified, ClaimPromoted, ClaimVerified, Policy, Role, SessionOpened,
};
use crate::lineage::Sessions;
use crate::types::{AxisName, ClaimId, LedgerId, Name, PublicKey, Seq, Text, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Something lawfully said: a body and the envelope around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact<T> {
    /// Position of the event.
    pub seq: Seq,
    /// Session of the event.
    pub session: Seq,
    /// Its signer.
    pub key: PublicKey,
    /// Its time.
    pub time: Time,
    /// What it says.
    pub body: T,
}

/// The ledger itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// Its id: leaf of event 0.
    pub id: LedgerId,
    /// The key that signed event 0.
    pub root: PublicKey,
    /// Its name.
    pub name: Name,
    /// What it allows.
    pub policy: Policy,
    /// The rules version in force.
    pub rules: u64,
    /// The highest format version allowed.
    pub v: u64,
}

/// A key that was authorised.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// What people call it.
    pub label: Name,
    /// What it may do.
    pub roles: Vec<Role>,
    /// The event that authorised it.
    pub authorized: Seq,
    /// Who authorised it.
    pub by: PublicKey,
    /// The last revocation, if there is one.
    pub revoked: Option<Revocation>,
}

impl Key {
    /// Whether it has a role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// A key's last `key.revoked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revocation {
    /// The event.
    pub seq: Seq,
    /// From which seq on the key's events are void.
    pub compromised_since: Option<Seq>,
}

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its opening.
    pub opened: Fact<SessionOpened>,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// Its ambient declarations.
    pub ambient: Vec<Fact<AmbientDeclared>>,
    /// Its reverifications.
    pub reverified: Vec<Fact<BoundaryReverified>>,
    /// Its receipts, begun probes, gates and reverifications: whether it did anything at all.
    pub acted: bool,
    /// The sealed sessions that it inherits, transitively.
    pub(crate) ancestors: Sessions,
    /// The first of its declarations to cover a name. A session is one key's, and nothing but the
    /// key voids a declaration: no later one stands when the first is void.
    pub(crate) allowed: BTreeMap<AxisName, Seq>,
    /// Where its reverifications speak of an axis: which of them, and which entry.
    pub(crate) told: BTreeMap<Seq, Vec<(usize, usize)>>,
}

impl Session {
    /// Whether it ended by a seal.
    pub fn is_sealed(&self) -> bool {
        matches!(self.end, Some(End::Sealed(_)))
    }

    /// Whether it goes on.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By a seal.
    Sealed(Seq),
    /// Without one.
    Abandoned(Seq),
}

/// One justification of a claim: a `claim.verified` or a `claim.promoted`.
#[derive(Debug, Clone, PartialEq)]
pub struct Support {
    /// The claim.
    pub claim: ClaimId,
    /// The receipts that show it.
    pub receipts: Vec<Seq>,
    /// The axes it needs.
    pub needs: Vec<Seq>,
    /// The claims it is derived from.
    pub from: Vec<ClaimId>,
    /// What bound each of these to its statement when this was recorded.
    pub from_bound_by: Vec<Option<Seq>>,
    /// Why it needs no axis, if it says so.
    pub independent: Option<Text>,
    /// What it states.
    pub statement: Text,
    /// The flag that it promotes, if it does.
    pub flag: Option<Seq>,
}

impl Support {
    /// The support that a `claim.verified` gives.
    pub(crate) fn verified(body: &ClaimVerified) -> Support {
        Support {
            claim: body.claim.clone(),
            receipts: body.receipts.to_vec(),
            needs: body.needs.to_vec(),
            from: body.from.to_vec(),
            from_bound_by: Vec::new(),
            independent: body.independent.clone(),
            statement: body.statement.clone(),
            flag: None,
        }
    }

    /// The support that a `claim.promoted` gives, with the statement of its flag.
    pub(crate) fn promoted(body: &ClaimPromoted, statement: Text) -> Support {
        Support {
            claim: body.claim.clone(),
            receipts: vec![body.receipt],
            needs: body.needs.to_vec(),
            from: body.from.to_vec(),
            from_bound_by: Vec::new(),
            independent: body.independent.clone(),
            statement,
            flag: Some(body.flag),
        }
    }
}

/// Where a claim was spoken of, each ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    /// Its supports.
    pub supports: Vec<Seq>,
    /// Its flags.
    pub flags: Vec<Seq>,
    /// Its discards.
    pub discards: Vec<Seq>,
    /// Its retractions.
    pub retractions: Vec<Seq>,
    /// Its refused promotions.
    pub promotions_refused: Vec<Seq>,
    /// Its open flag, if there is one.
    pub(crate) open_flag: Option<Seq>,
    /// The first of its supports that is not void.
    pub(crate) first_support: Option<Seq>,
    /// Who flagged it, each by the first flag.
    pub(crate) flagged_by: BTreeMap<PublicKey, Seq>,
}

/// Where a statement was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stated {
    /// The ids that a support or flag with it was ever recorded of.
    pub(crate) ids: BTreeSet<ClaimId>,
    /// The open flags that make it.
    pub(crate) open: BTreeSet<Seq>,
}

/// Who said a lawful event, and what it cites through a receipt, an axis or a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) key: PublicKey,
    pub(crate) cites: Vec<Seq>,
    /// Key events, upgrades and acknowledgements are never voided.
    pub(crate) voidable: bool,
}
