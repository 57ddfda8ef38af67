//! A ledger that is only read: this machine's own, or a file that somebody handed over.
//!
//! ```text
//!  own file ───────▶ view ──────────────▶ slice ─┐
//!                                                ├─▶ the commands that show
//!  any other file ─▶ copy ─▶ Verifier ─▶ state ──┘   (with what was found of it)
//! ```
//!
//! Of evidence every answer comes from a full verification and the fold of its intact part. Nothing
//! is kept of it on this machine, and nothing is written where it lies.

use super::args::Common;
use super::context::command;
use super::examine::{Examination, Subject, examine};
use super::output::Output;
use super::place::Whose;
use super::render::head_json;
use super::report::{Exit, Failure};
use super::source::Opened;
use crate::append::LedgerError;
use crate::chain::{self, VerifiedEvent};
use crate::home::folders::Folders;
use crate::home::view::OwnLedger;
use crate::kept::CommittedTo;
use crate::refusal::Refusal;
use crate::slice::Question;
use crate::state::State;
use crate::store::{Capture, Read, Record};
use crate::types::{Digest, Head, Leaf, Seq};
use crate::verdict::Obstacle;
use crate::verify::{Report, Verification};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What is handed each event: its judgement, and its record.
pub type Visit<'a> = &'a mut dyn FnMut(&VerifiedEvent, Option<Refusal>, &Record);

/// What answers the questions that commands ask of a ledger.
pub trait Answers {
    /// The last event that may be believed.
    ///
    /// # Errors
    /// If there is none, or it cannot be read; so for every method here.
    fn head(&self) -> Result<Head, Failure>;

    /// The leaf of an event; `None` if there is no such event.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn leaf(&self, seq: Seq) -> Result<Option<Leaf>, Failure>;

    /// A state that answers a question.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn ask(&self, question: &Question) -> Result<Rc<State>, Failure>;

    /// The state just after an event.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn fold(&self, up_to: Seq) -> Result<State, Failure>;

    /// Hands the events from one to another to `visit`, in order.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn replay(&self, from: Seq, up_to: Seq, visit: Visit<'_>) -> Result<(), Failure>;

    /// What was computed of all events up to one, if it was kept.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn computed(&self, _up_to: Seq) -> Result<Option<Vec<u8>>, Failure> {
        Ok(None)
    }

    /// Keeps what was computed of all events up to one. Nothing is kept of evidence.
    ///
    /// # Errors
    /// See [`Answers::head`].
    fn keep_computed(&self, _up_to: Seq, _bytes: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    /// What is kept under a commitment, if it is what an event commits to.
    ///
    /// # Errors
    /// See [`Answers::head`]; of this machine's own ledger also if it is something else, which of
    /// evidence is told as one of its faults.
    fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, Failure>;

    /// What was found of evidence; `None` of this machine's own ledger, whose faults are failures.
    fn integrity(&self) -> Option<Value>;
}

impl Answers for OwnLedger {
    fn head(&self) -> Result<Head, Failure> {
        Ok(OwnLedger::head(self)?)
    }

    fn leaf(&self, seq: Seq) -> Result<Option<Leaf>, Failure> {
        Ok(self.store().get(seq)?.map(|record| record.leaf()))
    }

    fn ask(&self, question: &Question) -> Result<Rc<State>, Failure> {
        Ok(Rc::new(OwnLedger::ask(self, question)?))
    }

    fn fold(&self, up_to: Seq) -> Result<State, Failure> {
        Ok(OwnLedger::fold(self, up_to)?)
    }

    fn replay(&self, from: Seq, up_to: Seq, visit: Visit<'_>) -> Result<(), Failure> {
        Ok(self.replay_from(from, up_to, visit)?)
    }

    fn computed(&self, up_to: Seq) -> Result<Option<Vec<u8>>, Failure> {
        Ok(OwnLedger::computed(self, up_to)?)
    }

    fn keep_computed(&self, up_to: Seq, bytes: &[u8]) -> Result<(), Failure> {
        Ok(OwnLedger::keep_computed(self, up_to, bytes)?)
    }

    fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, Failure> {
        Ok(OwnLedger::capture(self, commitment, committed)?)
    }

    fn integrity(&self) -> Option<Value> {
        None
    }
}

/// A file that somebody handed over, verified whole.
pub struct Examined {
    path: PathBuf,
    opened: Opened,
    report: Report,
    /// The fold of the intact part.
    state: Rc<State>,
    /// Why it is not trusted, if it is whole and is not.
    untrusted: Option<Failure>,
}

impl Examined {
    /// Examines a file: a ledger or an export.
    ///
    /// # Errors
    /// If it is neither, or cannot be read.
    pub fn of(common: &Common, folders: &Folders, path: &Path) -> Result<Examined, Failure> {
        let subject = Subject::of(path.to_owned(), Whose::Unknown);
        let found = examine(common, folders, subject, &mut Output::mute())?;
        let head = found.report.head.filter(|_| !found.report.is_trusted());
        let untrusted = head.map(|head| found.untrusted(&head));
        let Examination {
            opened,
            report,
            state,
            ..
        } = found;
        Ok(Examined {
            path: path.to_owned(),
            opened,
            report,
            state: Rc::new(state),
            untrusted,
        })
    }

    /// Says on standard error what the answers that follow are from.
    pub fn tell(&self, output: &mut Output) {
        let report = &self.report;
        let path = self.path.display();
        let what = format!("{path} is not this machine's own ledger: examined as evidence");
        let of = match report.head {
            Some(head) => format!("answers are of its intact part, which ends at {head}"),
            None => "it has no intact event".to_owned(),
        };
        match report.result {
            Verification::Verified => output.note(&format!("{what}, verified; {of}")),
            Verification::Error
            | Verification::Tampered
            | Verification::Unlawful
            | Verification::Undetermined
            | Verification::Incomplete
            | Verification::Empty
            | Verification::SelfConsistent => {
                let result = report.result.as_str().to_uppercase();
                output.note(&format!("WARNING {result}: {what}; {of}"));
            }
        }
        if let Some(fault) = report.faults.items().first() {
            let at = (fault.seq).map_or(String::new(), |seq| format!(" at event {seq}"));
            let total = report.faults.total();
            let (kind, detail) = (fault.kind, &fault.detail);
            output.note(&format!(
                "WARNING {total} faults, the first {kind}{at}: {detail}"
            ));
        }
        for why in &report.incomplete {
            output.note(&format!("WARNING incomplete: {why}"));
        }
        for what in &report.not_proven {
            output.note(&format!("not proven: {what}"));
        }
    }

    /// Demands a chain that is whole, whose root is trusted, and that was judged to its end.
    ///
    /// # Errors
    /// What the file lacks.
    pub fn require_trusted(&self) -> Result<(), Failure> {
        let report = &self.report;
        require_whole(report, &self.path)?;
        if let Some(failure) = &self.untrusted {
            return Err(failure.clone());
        }
        match report.undetermined {
            Some(seq) => Err(Failure::from(LedgerError::Undetermined(seq)).next(look(&self.path))),
            None => Ok(()),
        }
    }

    /// Why nothing that it says may be relied on, if so.
    fn obstacle(&self) -> Option<Obstacle> {
        let report = &self.report;
        if report.faults.total() > 0 {
            Some(Obstacle::Tampered)
        } else if !report.is_whole() {
            Some(Obstacle::Incomplete)
        } else if !report.is_trusted() {
            Some(Obstacle::Untrusted)
        } else {
            None
        }
    }

    fn refusal(&self, seq: Seq) -> Option<Refusal> {
        self.state.refused().get(&seq).cloned()
    }
}

/// The head of what was read from a file, if it is one chain without a fault, and all of it.
///
/// # Errors
/// What the file lacks.
pub fn require_whole(report: &Report, path: &Path) -> Result<Head, Failure> {
    let shown = path.display();
    if report.faults.total() > 0 {
        let first = report.faults.items().first();
        let first = first.map_or(String::new(), |fault| format!(": {}", fault.detail));
        let message = format!("{shown} is not the chain that was signed{first}");
        return Err(Failure::integrity("tampered", message).next(look(path)));
    }
    if !report.incomplete.is_empty() {
        let message = format!("{shown} is incomplete: {}", report.incomplete.join("; "));
        return Err(Failure::cannot_judge("incomplete", message).next(look(path)));
    }
    let empty = || Failure::cannot_judge("empty", format!("{shown} has no event"));
    report.head.ok_or_else(|| empty().next(look(path)))
}

/// How a command ends that answers from what is not whole: no answer from what was tampered with,
/// or of which there may be more, is a success. `None` if it is whole.
pub fn shortfall(report: &Report) -> Option<Exit> {
    match report.faults.total() {
        0 if report.is_whole() => None,
        0 => Some(Exit::CannotJudge),
        1.. => Some(Exit::Integrity),
    }
}

fn look(path: &Path) -> String {
    command(&["handoff", "verify", &path.to_string_lossy()])
}

impl Answers for Examined {
    fn head(&self) -> Result<Head, Failure> {
        match self.report.head {
            Some(head) => Ok(head),
            None => require_whole(&self.report, &self.path),
        }
    }

    fn leaf(&self, seq: Seq) -> Result<Option<Leaf>, Failure> {
        let mut found = None;
        self.replay(seq, seq, &mut |event, _, _| found = Some(event.leaf()))?;
        Ok(found)
    }

    fn ask(&self, _: &Question) -> Result<Rc<State>, Failure> {
        Ok(Rc::clone(&self.state))
    }

    fn fold(&self, up_to: Seq) -> Result<State, Failure> {
        let mut state = State::new();
        self.replay(Seq::ZERO, up_to, &mut |event, refusal, _| {
            state.apply_judged(event, refusal);
        })?;
        Ok(state)
    }

    fn replay(&self, from: Seq, up_to: Seq, visit: Visit<'_>) -> Result<(), Failure> {
        let Some(head) = self.report.head else {
            return Ok(());
        };
        let mut broken = None;
        self.opened
            .records(from, up_to.min(head.seq), |seq, record| {
                // The copy is nobody else's: it holds what was verified.
                match chain::accept(seq, &record.0, record.leaf()) {
                    Ok(event) => visit(&event, self.refusal(seq), record),
                    Err(fault) => broken = broken.take().or(Some(fault)),
                }
            })?;
        match broken {
            Some(fault) => Err(LedgerError::from(fault).into()),
            None => Ok(()),
        }
    }

    fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, Failure> {
        self.opened.capture(commitment, committed)
    }

    fn integrity(&self) -> Option<Value> {
        let report = &self.report;
        let file = self.opened.file;
        Some(json!({
            "result": report.result,
            "ledger": report.ledger,
            "events": report.events,
            "records": report.records,
            "head": report.head.as_ref().map(head_json),
            "signer": report.signer,
            "end": report.end,
            "faults": report.faults.items(),
            "faults_total": report.faults.total(),
            "refused_total": report.refused.total(),
            "incomplete": report.incomplete,
            "not_proven": report.not_proven,
            "file": file.map(|(sha256, bytes)| json!({ "sha256": sha256, "bytes": bytes })),
        }))
    }
}

/// A ledger that is only read, whosever it is.
pub enum AnyLedger {
    /// This machine's own.
    Own(Box<OwnLedger>),
    /// A file that somebody handed over.
    Evidence(Box<Examined>),
}

impl AnyLedger {
    fn answers(&self) -> &dyn Answers {
        match self {
            AnyLedger::Own(ledger) => ledger.as_ref(),
            AnyLedger::Evidence(examined) => examined.as_ref(),
        }
    }

    /// How a command ends that would end so on a ledger without fault. Of evidence that is not
    /// whole, or was not judged to its end, no answer is a success.
    pub fn exit(&self, exit: Exit) -> Exit {
        let AnyLedger::Evidence(examined) = self else {
            return exit;
        };
        let unjudged = examined.report.undetermined.map(|_| Exit::CannotJudge);
        shortfall(&examined.report).or(unjudged).unwrap_or(exit)
    }

    /// Why nothing of it may be relied on, and the command that tells more: of evidence that is not
    /// whole, or whose root nobody vouches for.
    pub fn obstacle(&self) -> Option<(Obstacle, String)> {
        match self {
            AnyLedger::Own(_) => None,
            AnyLedger::Evidence(examined) => {
                let obstacle = examined.obstacle()?;
                Some((obstacle, look(&examined.path)))
            }
        }
    }

    /// Demands of evidence what [`Examined::require_trusted`] does; of this machine's own ledger
    /// nothing, which was demanded when it was opened.
    ///
    /// # Errors
    /// What the file lacks.
    pub fn require_trusted(&self) -> Result<(), Failure> {
        match self {
            AnyLedger::Own(_) => Ok(()),
            AnyLedger::Evidence(examined) => examined.require_trusted(),
        }
    }
}

impl Answers for AnyLedger {
    fn head(&self) -> Result<Head, Failure> {
        self.answers().head()
    }

    fn leaf(&self, seq: Seq) -> Result<Option<Leaf>, Failure> {
        self.answers().leaf(seq)
    }

    fn ask(&self, question: &Question) -> Result<Rc<State>, Failure> {
        self.answers().ask(question)
    }

    fn fold(&self, up_to: Seq) -> Result<State, Failure> {
        self.answers().fold(up_to)
    }

    fn replay(&self, from: Seq, up_to: Seq, visit: Visit<'_>) -> Result<(), Failure> {
        self.answers().replay(from, up_to, visit)
    }

    fn computed(&self, up_to: Seq) -> Result<Option<Vec<u8>>, Failure> {
        self.answers().computed(up_to)
    }

    fn keep_computed(&self, up_to: Seq, bytes: &[u8]) -> Result<(), Failure> {
        self.answers().keep_computed(up_to, bytes)
    }

    fn capture(
        &self,
        commitment: &Digest,
        committed: CommittedTo,
    ) -> Result<Option<Capture>, Failure> {
        self.answers().capture(commitment, committed)
    }

    fn integrity(&self) -> Option<Value> {
        self.answers().integrity()
    }
}
