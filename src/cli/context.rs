//! What a command works with: the ledger it found, the key, the pins, the session and the moment.

use super::args::Common;
use super::examined::{Answers, AnyLedger, Examined};
use super::output::Output;
pub use super::place::{Gone, Whose, current_folder, find, folders, whose, whose_is};
use super::quote::shell_quoted;
use super::report::{Exit, Failure};
use super::tree;
use super::trust::Trust;
pub use super::trust::{known_key, new_key, public_key, unpinned, untrusted};
use crate::append::{Appended, LedgerError, Pen};
use crate::facts::Session;
use crate::home::clock;
use crate::home::folders::Folders;
use crate::home::keys;
use crate::home::paths;
use crate::home::scope::Scope;
use crate::home::view::{self, OwnLedger};
use crate::judge::Asked;
use crate::key::SigningKey;
use crate::slice::Question;
use crate::state::State;
use crate::store::sqlite;
use crate::types::{Digest, Head, Seq, Time};
use crate::verify::Basis;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// How long what probes saw waits for another one's lock.
const WAIT_AFTER_PROBES: Duration = Duration::from_secs(30);

/// An open ledger, and from where it is asked: this machine's own, unless said otherwise.
pub struct Context<'a, L = OwnLedger> {
    common: &'a Common,
    /// This user's folders.
    pub folders: Folders,
    /// Who is trusted.
    trust: Trust,
    /// The ledger, verified up to its head.
    pub ledger: L,
    /// Where its file is.
    pub path: PathBuf,
    /// The current folder.
    pub cwd: PathBuf,
    /// The root of the session: of the worktree, or of what holds the ledger.
    pub root: PathBuf,
    /// The scope asked from.
    pub scope: Digest,
    /// The clock when the command began.
    pub time: Time,
}

impl<'a> Context<'a> {
    /// Finds and opens the ledger in order to write, verifying what is new in it, and holds it to
    /// `--expect`. A file that is not this machine's own is examined as evidence first, and taken
    /// only if it is whole and its root is trusted.
    ///
    /// # Errors
    /// What keeps it from being found, opened or believed.
    pub fn open(common: &'a Common) -> Result<Context<'a>, Failure> {
        let (folders, cwd) = (folders(common), current_folder(common)?);
        let trust = Trust::of(common, &folders)?;
        let (path, whose) = whose(common, &cwd, &folders)?;
        let ledger = match whose {
            Whose::Own => view::open(&path, &folders, wait(common))?,
            Whose::Unknown => {
                Examined::of(common, &folders, &path)?.require_trusted()?;
                view::open_unlisted(&path, &folders, wait(common))?
            }
        };
        let context = Context::with(common, folders, trust, ledger, [path, cwd])?;
        context.check_expected()?;
        Ok(context)
    }

    /// Records what probes saw, waiting longer for the lock than other writers do, unless `--wait`
    /// says how long: the run would be lost.
    ///
    /// # Errors
    /// As [`OwnLedger`]'s `append`.
    pub fn append_seen<T>(
        &mut self,
        signer: &SigningKey,
        question: &Question,
        work: impl FnOnce(&mut Pen<'_>) -> Result<T, Failure>,
    ) -> Result<Appended<T>, Failure> {
        if self.common.wait.is_none() {
            self.ledger.store_mut().wait_at_least(WAIT_AFTER_PROBES)?;
        }
        self.ledger.append(signer, clock::now, question, work)
    }
}

impl<'a> Context<'a, AnyLedger> {
    /// Finds and opens the ledger in order to read: this machine's own as [`Context::open`] does,
    /// any other file as evidence, of which `output` is told at once.
    ///
    /// # Errors
    /// What keeps it from being found, opened or, if it is this machine's own, believed.
    pub fn examine(
        common: &'a Common,
        output: &mut Output,
    ) -> Result<Context<'a, AnyLedger>, Failure> {
        let (folders, cwd) = (folders(common), current_folder(common)?);
        let trust = Trust::of(common, &folders)?;
        let (path, whose) = whose(common, &cwd, &folders)?;
        let ledger = match whose {
            Whose::Own => AnyLedger::Own(Box::new(view::open(&path, &folders, wait(common))?)),
            Whose::Unknown => {
                let examined = Examined::of(common, &folders, &path)?;
                examined.tell(output);
                AnyLedger::Evidence(Box::new(examined))
            }
        };
        let context = Context::with(common, folders, trust, ledger, [path, cwd])?;
        if context.ledger.integrity().is_none() {
            context.check_expected()?;
        }
        Ok(context)
    }

    /// Answers from a ledger that is read, as [`Context::examine`] opens it. Of evidence that is
    /// not whole even "there is no such thing" is no plain no: it may have been taken out.
    ///
    /// # Errors
    /// As [`Context::examine`], and what `answer` fails with.
    pub fn answering(
        common: &'a Common,
        output: &mut Output,
        answer: impl FnOnce(&Context<'a, AnyLedger>, &mut Output) -> Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        let context = Context::examine(common, output)?;
        answer(&context, output).map_err(|failure| match failure.exit {
            Exit::No | Exit::Usage => Failure {
                exit: context.ledger.exit(failure.exit),
                ..failure
            },
            Exit::Yes
            | Exit::CannotJudge
            | Exit::Integrity
            | Exit::Environment
            | Exit::Indeterminate
            | Exit::NotRun
            | Exit::Action(_)
            | Exit::Blocked => failure,
        })
    }

    /// Prints the answer's document, with what was found of the evidence if it is from such, and
    /// returns the exit that both come to.
    pub fn answer(&self, output: &mut Output, schema: &str, exit: Exit, body: Value) -> Exit {
        let (exit, mut body) = (self.ledger.exit(exit), body);
        if let (Some(members), Some(integrity)) = (body.as_object_mut(), self.ledger.integrity()) {
            members.insert("integrity".to_owned(), integrity);
        }
        output.document(schema, exit, body);
        exit
    }
}

impl<'a, L: Answers> Context<'a, L> {
    fn with(
        common: &'a Common,
        folders: Folders,
        trust: Trust,
        ledger: L,
        [path, cwd]: [PathBuf; 2],
    ) -> Result<Context<'a, L>, Failure> {
        let root = paths::root_of_session(&cwd, &path)?;
        let scope = Scope::of_process(&root)?.digest();
        Ok(Context {
            common,
            folders,
            trust,
            ledger,
            path,
            cwd,
            root,
            scope,
            time: clock::now(),
        })
    }

    /// The options that every command has.
    pub fn common(&self) -> &'a Common {
        self.common
    }

    /// The ledger's head.
    ///
    /// # Errors
    /// What the view failed with.
    pub fn head(&self) -> Result<Head, Failure> {
        self.ledger.head()
    }

    fn check_expected(&self) -> Result<(), Failure> {
        match &self.common.expect {
            Some(expected) => tree::hold(self, expected),
            None => Ok(()),
        }
    }

    /// The path of the key that signs.
    ///
    /// # Errors
    /// If the folder of keys cannot be found, or no such key.
    pub fn key_path(&self) -> Result<PathBuf, Failure> {
        key_path(self.common, &self.folders)
    }

    /// The key that signs.
    ///
    /// # Errors
    /// If it cannot be read, or is not fit to be used.
    pub fn signer(&self) -> Result<SigningKey, Failure> {
        Ok(keys::read(&self.key_path()?)?)
    }

    /// The question asked of now, from here. Probes may have run since the command began, so the
    /// clock is read anew.
    pub fn now(&self) -> Asked {
        Asked::Now {
            time: clock::now(),
            scope: self.scope,
        }
    }

    /// Where trust in the ledger's root comes from.
    ///
    /// # Errors
    /// If pins cannot be read.
    pub fn basis(&self, state: &State) -> Result<Basis, Failure> {
        let Some(ledger) = state.ledger() else {
            return Ok(Basis::Unpinned);
        };
        self.trust.basis(&ledger.id, &ledger.root)
    }

    /// The state that answers a question, of a ledger whose root is trusted and which this program
    /// can judge.
    ///
    /// # Errors
    /// Exit 3 if the root is not pinned.
    pub fn ask(&self, question: &Question) -> Result<Rc<State>, Failure> {
        let state = self.ledger.ask(question)?;
        self.require_trust(&state)?;
        Ok(state)
    }

    /// Requires that the ledger's root is trusted.
    ///
    /// # Errors
    /// Exit 3 if it is not.
    pub fn require_trust(&self, state: &State) -> Result<(), Failure> {
        let Some(ledger) = state.ledger() else {
            return Err(LedgerError::Empty.into());
        };
        if self.basis(state)? != Basis::Unpinned {
            return Ok(());
        }
        let mut failure = unpinned(&ledger.root, &ledger.id);
        if !self.common.trust.is_empty() {
            failure.message.push_str("; --trust gives another");
        }
        Err(failure)
    }

    /// As [`Context::require_trust`] for an answer that only shows: what is told of evidence says
    /// itself that its root is not trusted.
    ///
    /// # Errors
    /// Exit 3 if it is this machine's own ledger, and the root is not trusted.
    pub fn require_trust_or_tell(&self, state: &State) -> Result<(), Failure> {
        match self.ledger.integrity() {
            Some(_) => Ok(()),
            None => self.require_trust(state),
        }
    }

    /// The session that was named, or the one open session of this key in this scope.
    ///
    /// # Errors
    /// Exit 2, listing the sessions there are, if there is none or several.
    pub fn session(&self) -> Result<Seq, Failure> {
        if let Some(session) = self.common.session {
            let named = Question {
                session: Some(session),
                ..Question::default()
            };
            let state = self.ledger.ask(&named)?;
            return match state.sessions().get(&session) {
                Some(_) => Ok(session),
                None => Err(Failure::usage(format!("there is no session {session}"))
                    .next("handoff session list")),
            };
        }
        let state = self.ledger.ask(&Question {
            sessions: true,
            ..Question::default()
        })?;
        let key = self.signer()?.public();
        let open: Vec<(&Seq, &Session)> = state
            .sessions()
            .iter()
            .filter(|(_, s)| s.is_open())
            .collect();
        let mine = |session: &Session| {
            session.opened.key == key && session.opened.body.scope == self.scope
        };
        let candidates: Vec<Seq> = open
            .iter()
            .filter(|(_, session)| mine(session))
            .map(|(seq, _)| **seq)
            .collect();
        match candidates.as_slice() {
            [session] => Ok(*session),
            [] => Err(no_session(&open)),
            several => {
                let listed: Vec<String> = several.iter().map(Seq::to_string).collect();
                let told: Vec<String> = (open.iter())
                    .filter(|(seq, _)| several.contains(seq))
                    .map(|(seq, session)| format!("{seq} by {}", session.opened.body.agent))
                    .collect();
                let message = format!("several sessions are open here: {}", told.join(", "));
                Err(Failure::usage(message).next(format!(
                    "the same command with --session {}",
                    listed.join(" or ")
                )))
            }
        }
    }

    /// The session as [`Context::session`] finds it, or none if there is none open here.
    ///
    /// # Errors
    /// If several are, or one was named that there is not.
    pub fn session_if_any(&self) -> Result<Option<Seq>, Failure> {
        match self.session() {
            Ok(session) => Ok(Some(session)),
            Err(failure) if failure.code == NO_SESSION => Ok(None),
            Err(_) if self.common.key.is_none() && !self.key_path()?.exists() => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The code of "no session is open here".
pub const NO_SESSION: &str = "no_session";

fn no_session(open: &[(&Seq, &Session)]) -> Failure {
    let others: Vec<String> = (open.iter())
        .map(|(seq, session)| format!("{seq} by {}", session.opened.body.agent))
        .collect();
    let others = match others.is_empty() {
        true => "none is open".to_owned(),
        false => format!("open elsewhere or by another key: {}", others.join(", ")),
    };
    let mut failure = Failure::usage(format!("no session of this key is open here ({others})"));
    failure.code = NO_SESSION;
    failure.next("handoff resume --agent NAME")
}

/// Removes the view of the ledger, which turned out damaged: the next command builds it anew.
///
/// # Errors
/// If the ledger cannot be read, or the view not be removed.
pub fn forget_view(common: &Common) -> Result<(), Failure> {
    let path = find(common, &current_folder(common)?)?;
    let folders = folders(common);
    let store = view::open_store(&path, &folders, wait(common))?;
    Ok(view::forget(&store, &folders)?)
}

/// How long to wait for another writer.
pub fn wait(common: &Common) -> Duration {
    common.wait.unwrap_or(sqlite::WAIT)
}

/// The path of the key that the options name.
///
/// # Errors
/// If the folder of keys cannot be found.
pub fn key_path(common: &Common, folders: &Folders) -> Result<PathBuf, Failure> {
    let given = common.key.as_deref().map(Path::as_os_str);
    Ok(keys::resolve(given, &folders.keys()?)?)
}

/// A command to type next, quoted for a shell.
pub fn command(words: &[&str]) -> String {
    shell_quoted(words)
}
