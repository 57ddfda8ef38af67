//! A whole ledger, verified against all that is known outside it: what every command that must
//! know begins with.
//!
//! ```text
//!  keys and pins ─┐
//!  a file ────────┼─▶ walk ─▶ report, state
//!  what was seen ─┘
//! ```

use super::args::Common;
use super::context;
use super::known::Known;
use super::output::Output;
use super::place::Whose;
use super::report::Failure;
use super::source::{self, Opened};
use super::trust::{Trust, untrusted};
use crate::home::clock;
use crate::home::folders::Folders;
use crate::kept::CommittedTo;
use crate::note::VerifierKey;
use crate::state::State;
use crate::types::{Digest, Head};
use crate::verify::{Basis, Outside, Report, Verifier};
use std::path::PathBuf;

/// Of a ledger whose root is none of the keys that were given.
const NOT_THE_GIVEN: &str =
    "whose it is: its root key is none that --trust gives, so it is somebody else's ledger";

/// What is to be examined.
pub struct Subject {
    /// The file, by an absolute path.
    pub path: PathBuf,
    /// Whose it is: what is known of it.
    pub whose: Whose,
    /// As whose it is read: where it lies, or by a copy.
    pub read_as: Whose,
    /// Why it may be this machine's own though it is not known to be.
    pub doubt: Option<Failure>,
    /// The witnesses that must have cosigned what is demanded.
    pub witnesses: Vec<VerifierKey>,
}

impl Subject {
    /// A file that is read as what it is.
    pub fn of(path: PathBuf, whose: Whose) -> Subject {
        Subject {
            path,
            whose,
            read_as: whose,
            doubt: None,
            witnesses: Vec::new(),
        }
    }
}

/// What was found.
pub struct Examination {
    /// The source, for reading what was verified.
    pub opened: Opened,
    /// The verdict, and all that it rests on.
    pub report: Report,
    /// The fold of the intact part.
    pub state: State,
    /// What this machine knew of it.
    pub known: Known,
    /// What the intact part commits to and is not erased.
    pub commitments: Vec<(Digest, CommittedTo)>,
    /// Why nobody could be asked who vouches for its root.
    pins_unread: Option<Failure>,
}

impl Examination {
    /// Exit 3: why the root of a whole ledger is not trusted.
    pub fn untrusted(&self, head: &Head) -> Failure {
        let root = self.report.signer.root_key;
        let unread = self.pins_unread.clone();
        unread.unwrap_or_else(|| untrusted(root, &head.ledger))
    }
}

/// Examines a ledger, to its end, whatever is wrong with it. Pins that cannot be read vouch for
/// nobody, and that is told.
///
/// # Errors
/// A key given that is none; or if the file is no ledger or cannot be read, which says nothing of
/// it.
pub fn examine(
    common: &Common,
    folders: &Folders,
    subject: Subject,
    output: &mut Output,
) -> Result<Examination, Failure> {
    let Subject {
        path,
        whose,
        read_as,
        doubt,
        witnesses,
    } = subject;
    let trust = Trust::of(common, folders)?;
    let open = || match read_as {
        Whose::Own => source::own(&path, folders, context::wait(common)),
        Whose::Unknown => source::file(&path),
    };
    let mut opened = open()?;
    let mut known = Known::of(folders, &opened, &path, whose)?;
    if whose == Whose::Own
        && known
            .head
            .is_some_and(|(seq, _)| opened.is_copy_without(seq))
    {
        // Somebody may have written between the copy and the look at what is known. A copy made
        // after that look has it, or it was taken away.
        opened = open()?;
    }
    if let Some(doubt) = doubt {
        known.doubt(&doubt.message);
    }
    let mut verifier = Verifier::new(Outside {
        expect: common.expect.clone(),
        witnesses,
        view: known.head,
        elsewhere: whose == Whose::Unknown,
        now: Some(clock::now()),
    });
    source::walk(&mut opened, &mut verifier, output)?;
    known.tell(&mut verifier);
    let ledger = verifier.state().ledger();
    let basis = ledger.map_or(Ok(Basis::Unpinned), |ledger| {
        trust.basis(&ledger.id, &ledger.root)
    });
    let (basis, pins_unread) = match basis {
        Ok(basis) => (basis, None),
        Err(failure) => {
            verifier.not_proven(format!("that its root key is not pinned: {failure}"));
            (Basis::Unpinned, Some(failure))
        }
    };
    if basis == Basis::Unpinned && !common.trust.is_empty() {
        verifier.not_proven(NOT_THE_GIVEN.to_owned());
    }
    let commitments = verifier.commitments();
    let (report, state) = verifier.conclude(basis);
    Ok(Examination {
        opened,
        report,
        state,
        known,
        commitments,
        pins_unread,
    })
}
