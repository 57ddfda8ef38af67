//! The command line as types: what may be typed, and what was.

mod common;
mod hooks;
mod manage;
mod probe;
mod prove;
mod read;
mod record;
mod usage;
mod values;

pub use common::{Common, Place};
pub use hooks::{Hook, Hooks, Settings};
pub use manage::{
    Acknowledge, Acknowledged, Completions, Demo, Export, Help, Import, Init, InstallDocs, Key,
    Man, Open, Session, Trust,
};
pub use probe::{Check, Evidence, ProbeArgs, ProbeOptions, Step};
pub use prove::{CheckpointArgs, Prove, Proven, VerifyProof, WitnessCommand};
pub use read::{
    BRIEF_CHARACTERS, Brief, Can, Compare, Gate, Log, Reprobe, Resume, Show, StateArgs, Verify,
};
pub use record::{
    Ambient, AmbientEntry, Append, Axis, Claim, Class, Discard, Erase, Flag, Grounds, NamedAxis,
    Promote, ReadyAxes, Retract,
};
pub use values::{AxisReference, DURATION_MAX, Erasable, KeySource, NamedReason, Witnesses};

use super::output::Format;
use super::report::Failure;
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// Widest help, in columns.
const HELP_COLUMNS: usize = 100;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The options of every command.
    pub common: Common,
    /// The command.
    pub command: Command,
}

/// Hand conclusions to the next agent session, with the environment they held in.
#[derive(Debug, clap::Parser)]
#[command(name = "handoff", version, disable_help_subcommand = true, max_term_width = HELP_COLUMNS)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// Make a ledger here, and a key of your own
    #[command(after_help = "Example:\n  handoff init --name staging")]
    Init(Init),
    /// Make, show, list, authorize, rotate or revoke keys
    #[command(subcommand)]
    Key(Key),
    /// Pin the root keys that ledgers are judged by
    #[command(subcommand)]
    Trust(Trust),
    /// Open, list or abandon sessions
    #[command(subcommand)]
    Session(Session),
    /// Run a probe and record what the tool saw
    #[command(after_help = "Example:\n  \
        handoff probe --extract json:/status --expect value=ok -- curl -fsS http://db/health")]
    Probe(ProbeArgs),
    /// Record a property of the environment that claims may need
    #[command(after_help = "Example:\n  \
        handoff axis python --class dependency_version --holds-if 'semver=>=3.11' -- python3 -V\n\n\
        Presets: project (platform, toolchain, lockfiles, and git in a repository), platform\n\
        (os, arch), git (git.commit, git.changes), toolchain (rustc, node, python3, go, ruby:\n\
        those that manifests here name), lockfiles (lock.cargo, lock.npm, …), identity (user,\n\
        privileges), container (mount-root, netns), env=NAME (env.name: whether it is set).")]
    Axis(Axis),
    /// Declare what may drift without invalidating anything
    #[command(after_help = "Example:\n  \
        handoff ambient --allow host.name='runners are ephemeral' --observed ci-41\n\n\
        Every session declares it once at least, or is not sealed. What a session declares adds\n\
        up, to what it inherits too; --none adds nothing and takes nothing back.")]
    Ambient(Ambient),
    /// Record a verified claim: what it states, needs and is proved by
    #[command(after_help = "Example:\n  \
        handoff claim tests-pass 'the suite passes' --needs python \\\n    \
        --expect 'stdout~[0-9]+ passed' -- pytest -q")]
    Claim(Claim),
    /// Record an unverified claim, with the step that would verify it
    #[command(after_help = "Example:\n  \
        handoff flag orders-v2 '/v2/orders exists' --because 'openapi.yaml line 88' \\\n    \
        --check http=http://api/v2/orders")]
    Flag(Flag),
    /// Run a flag's step now; if it is met, the claim is verified
    #[command(
        after_help = "Example:\n  handoff promote orders-v2 --needs api.up\n\n\
        The step is run once. What has to be looked at again before others act on the claim is\n\
        what it needs: of something that answers, an axis of class reachability."
    )]
    Promote(Promote),
    /// Withdraw claims, in every session
    #[command(after_help = "Example:\n  handoff retract tests-pass --reason 'suite was skipped'")]
    Retract(Retract),
    /// Close a flag without verifying it
    #[command(after_help = "Example:\n  handoff discard orders-v2 --reason 'no longer planned'")]
    Discard(Discard),
    /// As admin: erase what is kept of probes' output; values in the chain stay
    #[command(
        after_help = "Example:\n  handoff erase 41 --reason 'it printed what it should not'\n\n\
        What goes from the ledger's file: the output kept of a probe, and the salts of its\n\
        commitments. What stays, signed in the chain for good: the value that was extracted from\n\
        the output (all of it, if --extract was not given), arguments, statements and reasons,\n\
        this one too. To keep a value out of the chain, probe with --redact.\n\
        Nor does it reach exports made with --captures, backups and snapshots (one that is put\n\
        back brings it back), or blocks that a disk or file system has not used again."
    )]
    Erase(Erase),
    /// Seal the session, so that others inherit it
    #[command(after_help = "Example:\n  handoff seal --session 12\n\n\
        A session that never declared what may drift is not sealed: handoff ambient --none, or\n\
        handoff ambient --allow NAME=REASON, before it.")]
    Seal,
    /// Record many things in one process: a command a line, as JSON arrays
    #[command(after_help = "Example:\n  handoff append lines.jsonl\n\n\
        A line: [\"claim\",\"a\",\"It is so\",\"--needs\",\"os\",\"--\",\"./prove\"]\n\
        Commands that record are taken: session open, axis, claim, flag, seal and the like.\n\
        Each is recorded before the next is begun, and answered by a line of its own: the\n\
        document that it prints with --json, with the number of its line. The first that fails\n\
        ends it. Options of every command hold for each line that does not give them itself.")]
    Append(Append),
    /// As root: say that refused events, or a rollback, are known of
    #[command(after_help = "Example:\n  handoff acknowledge 77 --reason 'old client, no effect'")]
    Acknowledge(Acknowledge),
    /// As root: allow this program's newest format in the ledger
    #[command(after_help = "Example:\n  handoff upgrade")]
    Upgrade,
    /// Open a session on what earlier ones left: verify, probe again, brief
    #[command(after_help = "Example:\n  handoff resume --agent builder --require db-is-staging")]
    Resume(Resume),
    /// Probe the inherited axes again
    #[command(after_help = "Example:\n  handoff reverify --only db-is-staging --dry-run")]
    Reverify(Reprobe),
    /// Tell what may not, and what may, be acted on
    #[command(after_help = "Example:\n  handoff brief --max-tokens 2000\n\n\
        The text is bounded, with what is left out counted; of two bounds the smaller holds. With\n\
        --json, text is so too, and claims and axes are all there are.")]
    Brief(Brief),
    /// Ask whether claims may be acted on; exit 0 if all may
    #[command(after_help = "Example:\n  handoff can db-is-staging tests-pass\n\n\
        It runs no probe: it judges by what the session saw last, as old as max ages let that be\n\
        (12h), and says how old. handoff reverify --only ID looks again.")]
    Can(Can),
    /// Run a command only if claims may be acted on, what they need probed again
    #[command(after_help = "Example:\n  \
        handoff gate db-is-staging -- ./migrate.sh\n\n\
        Streams and exit code are the command's own (128 + N if signal N ended it), also\n\
        with --json; 125: it was not run, and why stands on standard error, as one\n\
        document with --json. The decision is recorded before the run, its end after.\n\n\
        Probed again is what the claims need, their axes; not what proved them. That may change\n\
        between the probes and the act: the gate narrows that window, it does not close it.")]
    Gate(Gate),
    /// Verify a ledger, or a file that somebody handed you
    #[command(after_help = "Example:\n  handoff verify evidence.db --trust acme-root.pub")]
    Verify(Verify),
    /// Compare two copies of a ledger, and show where they part
    #[command(after_help = "Example:\n  handoff compare ours.db theirs.jsonl -o proof.jsonl")]
    Compare(Compare),
    /// List the events
    #[command(after_help = "Example:\n  handoff log --session 12 --kind axis.recorded")]
    Log(Log),
    /// Show an event
    #[command(after_help = "Example:\n  handoff show 41 --raw | sha256sum")]
    Show(Show),
    /// Show the state of the session's axes and claims
    #[command(after_help = "Example:\n  handoff state --session 12 --at 90")]
    State(StateArgs),
    /// Print the head line, to be kept elsewhere
    #[command(after_help = "Example:\n  handoff head >> ~/heads")]
    Head,
    /// Sign where the ledger stands, to be kept and witnessed elsewhere
    #[command(after_help = "Example:\n  handoff checkpoint -o ledger.checkpoint")]
    Checkpoint(CheckpointArgs),
    /// Prove to others, who have no ledger, that it holds an event
    #[command(after_help = "Example:\n  handoff prove 41 -o event-41.tlog-proof")]
    Prove(Prove),
    /// Check a proof; neither a ledger nor a home is needed
    #[command(
        name = "verify-proof",
        after_help = "Example:\n  handoff verify-proof event-41.tlog-proof --trust acme-root.pub"
    )]
    VerifyProof(VerifyProof),
    /// Be a witness of other machines' ledgers
    #[command(subcommand)]
    Witness(WitnessCommand),
    /// Write the ledger as JSON Lines, byte for byte
    #[command(after_help = "Example:\n  handoff export -o ledger.jsonl")]
    Export(Export),
    /// Make a ledger file of an export
    #[command(after_help = "Example:\n  handoff import ledger.jsonl --to restored.db")]
    Import(Import),
    /// Answer a hook of an agent's command line
    #[command(after_help = "Example:\n  \
        handoff hook pre-tool --client claude\n\n\
        Clients run it; handoff hooks install tells them to. It reads the client's JSON on\n\
        standard input, and answers and exits as that client reads it (exit 2: do not do it).\n\
        What a tool call needs stands in .handoff/guards.toml:\n\n  \
        on_error = \"closed\"        # or \"open\", where it cannot be told\n  \
        [[guard]]\n  \
        match = 'rm -rf|terraform apply'   # a regex, searched in the command\n  \
        tool = \"Bash\"              # one tool alone; may be left out\n  \
        claims = [\"db-is-staging\"]\n  \
        max_age = \"10m\"           # younger verdicts count; may be left out\n  \
        use_gate = false          # true: only through handoff gate")]
    Hook(Hook),
    /// Wire the hooks of agents' command lines, and look at them
    #[command(subcommand)]
    Hooks(Hooks),
    /// Print what to put into AGENTS.md, so that agents use this ledger
    #[command(after_help = "Example:\n  handoff guide >> AGENTS.md")]
    Guide,
    /// Look whether this machine can keep a ledger, and what to do if not
    #[command(after_help = "Example:\n  handoff doctor --json")]
    Doctor,
    /// Watch a whole handoff, with real probes, in a scratch folder
    #[command(after_help = "Example:\n  handoff demo")]
    Demo(Demo),
    /// Serve a client of the Model Context Protocol on standard input and output
    #[command(
        after_help = "Example:\n  handoff mcp --ledger /srv/project/.handoff/ledger.db\n\n\
        A call of a tool is a run of this program in the folder it was started in, with the\n\
        options of every command that this one was typed with. It ends when its client leaves."
    )]
    Mcp,
    /// Print completions for a shell
    #[command(after_help = "Example:\n  \
        handoff completions bash > ~/.local/share/bash-completion/completions/handoff")]
    Completions(Completions),
    /// Print the manual pages
    #[command(after_help = "Example:\n  handoff man --out ~/.local/share/man/man1")]
    Man(Man),
    /// Install the manual pages, and the completions for bash, zsh and fish
    #[command(
        name = "install-docs",
        after_help = "Example:\n  handoff install-docs ~/.local\n\n\
            zsh finds its own if share/zsh/site-functions under PREFIX is in its fpath."
    )]
    InstallDocs(InstallDocs),
    /// Print this help, that of a command, or all
    #[command(after_help = "Example:\n  handoff help all")]
    Help(Help),
    /// Print the version
    #[command(after_help = "Example:\n  handoff version --json")]
    Version,
}

/// What may be typed.
pub fn command() -> clap::Command {
    common::everywhere(Line::command())
}

/// What `argv` asks to be printed; read before it is known whether `argv` is right.
pub fn format(argv: &[OsString]) -> Format {
    let options = argv.iter().take_while(|word| *word != "--");
    if options.into_iter().any(|word| word == "--json") {
        Format::Json
    } else {
        Format::Text
    }
}

/// What `argv`, the program's name first, asks for. No command at all asks for help.
///
/// # Errors
/// A usage failure that names the word at fault and the command to type next.
pub fn parse(argv: &[OsString]) -> Result<Request, Failure> {
    let words = usage::texts(argv)?;
    let read = command()
        .try_get_matches_from(&words)
        .and_then(|matches| read(&matches));
    understood(read, &words)
}

fn understood(read: Result<Request, clap::Error>, words: &[String]) -> Result<Request, Failure> {
    let error = match read {
        Ok(request) => return Ok(request),
        Err(error) => error,
    };
    let command = if error.kind() == ErrorKind::DisplayVersion {
        Command::Version
    } else if error.kind() == ErrorKind::DisplayHelp {
        let topic = usage::path(words);
        Command::Help(Help { topic })
    } else {
        return Err(usage::failure(&error, words));
    };
    let common = Common::default();
    Ok(Request { common, command })
}

/// Reads command lines that are given to a command, one after the other. The options of every
/// command that it was given itself hold for each of them, unless they are given there.
pub struct Inner<'a> {
    command: clap::Command,
    outer: &'a Common,
}

impl<'a> Inner<'a> {
    /// A reader of what is given to a command with these options.
    pub fn new(outer: &'a Common) -> Inner<'a> {
        let command = common::typed_alone(Line::command());
        Inner { command, outer }
    }

    /// What `argv`, the program's name first, asks for.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn parse(&mut self, argv: &[String]) -> Result<Request, Failure> {
        let read = self
            .command
            .try_get_matches_from_mut(argv)
            .and_then(|matches| read(&matches));
        let request = understood(read, argv)?;
        Ok(Request {
            common: request.common.within(self.outer),
            ..request
        })
    }
}

/// The words of `argv` that are options of every command, or their values: those beside the names
/// of the program and of a command that takes nothing else.
///
/// # Errors
/// If a word is not UTF-8.
pub fn options(argv: &[OsString]) -> Result<Vec<String>, Failure> {
    Ok(usage::parted(&usage::texts(argv)?).1)
}

/// The command that `argv` gets to, as `help` takes it; `all` if it gets to none.
pub fn topic(argv: &[OsString]) -> String {
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
    match usage::path(&words.collect::<Vec<String>>()).as_slice() {
        [] => "all".to_owned(),
        path => path.join(" "),
    }
}

fn read(matches: &ArgMatches) -> Result<Request, clap::Error> {
    let levels: Vec<&ArgMatches> = std::iter::successors(Some(matches), |level| {
        level.subcommand().map(|(_, below)| below)
    })
    .collect();
    let line = Line::from_arg_matches(matches)?;
    let help = Help { topic: Vec::new() };
    Ok(Request {
        common: Common::gather(&levels),
        command: line.command.unwrap_or(Command::Help(help)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Seq;
    use std::time::Duration;

    fn parsed(words: &[&str]) -> Request {
        let argv: Vec<OsString> = ["handoff"]
            .iter()
            .chain(words)
            .map(OsString::from)
            .collect();
        parse(&argv).unwrap()
    }

    #[test]
    fn an_observed_value_belongs_to_the_name_before_it() {
        let words = [
            "ambient",
            "--allow",
            "host=a",
            "--observed",
            "x",
            "--observed",
            "y",
            "--allow",
            "zone=b",
            "--allow=user=c",
            "--observed",
            "z",
        ];
        let Command::Ambient(ambient) = parsed(&words).command else {
            panic!("not ambient");
        };
        let seen: Vec<(&str, Vec<&str>)> = ambient
            .entries
            .iter()
            .map(|entry| {
                let observed = entry.observed.iter().map(|value| value.as_str());
                (entry.allowed.name.as_str(), observed.collect())
            })
            .collect();
        let expected = [
            ("host", vec!["x", "y"]),
            ("zone", vec![]),
            ("user", vec!["z"]),
        ];
        assert_eq!(seen, expected);
        let none = Ambient {
            entries: Vec::new(),
        };
        assert_eq!(
            parsed(&["ambient", "--none"]).command,
            Command::Ambient(none)
        );
    }

    #[test]
    fn common_options_count_before_and_after_the_command() {
        let head = format!("handoff1:0123456789ab:7:{}", "0".repeat(64));
        let words = [
            "--trust",
            "a.pub",
            "--session",
            "3",
            "--expect",
            &head,
            "--json",
            "key",
            "--wait",
            "1s",
            "show",
            "--trust",
            "b.pub",
            "--session",
            "4",
        ];
        let common = parsed(&words).common;
        let files = ["a.pub", "b.pub"].map(|file| KeySource::File(file.into()));
        assert_eq!(common.trust, files);
        assert_eq!(common.session, Some(Seq(4)));
        assert_eq!(
            common.expect.map(|head| head.to_string()),
            Some(head.clone())
        );
        assert_eq!(common.wait, Some(Duration::from_secs(1)));
        assert!(common.json);
        let after = parsed(&["verify", "x.db", "--expect", &head]).common.expect;
        assert_eq!(after.map(|head| head.to_string()), Some(head));
    }

    #[test]
    fn a_command_with_an_option_of_that_name_keeps_it_for_itself() {
        let head = format!("handoff1:0123456789ab:7:{}", "0".repeat(64));
        let words = [
            "--expect", &head, "probe", "--expect", "value=1", "--", "a", "--json", "-x",
        ];
        let request = parsed(&words);
        assert_eq!(
            request.common.expect.map(|head| head.to_string()),
            Some(head)
        );
        assert!(!request.common.json);
        let Command::Probe(probe) = request.command else {
            panic!("not probe");
        };
        assert_eq!(probe.options.expect, ["value=1"]);
        let argv = ["a", "--json", "-x"].map(str::to_owned).to_vec();
        assert_eq!(probe.check, Check::Argv(argv));

        let request = parsed(&["--session", "3", "log", "--session", "4"]);
        assert_eq!(request.common.session, Some(Seq(3)));
        let Command::Log(log) = request.command else {
            panic!("not log");
        };
        assert_eq!(log.session, Some(Seq(4)));
    }

    #[test]
    fn evidence_is_a_probe_or_a_receipt_and_a_flag_may_lack_its_step() {
        let claim = [
            "claim", "a", "b", "--needs", "x,y@3", "--needs", "z", "--from", "c,d",
        ];
        let words = [&claim[..], &["--receipt", "7"]].concat();
        let Command::Claim(claim) = parsed(&words).command else {
            panic!("not claim");
        };
        assert_eq!(claim.evidence, Evidence::Receipt(Seq(7)));
        assert_eq!(
            (claim.grounds.needs.len(), claim.grounds.from.len()),
            (3, 2)
        );
        for words in [
            &["flag", "a", "b"][..],
            &["flag", "a", "b", "--because", ""],
        ] {
            let Command::Flag(flag) = parsed(words).command else {
                panic!("not flag");
            };
            assert_eq!(flag.step.probe, None);
        }
        let Command::Flag(flag) = parsed(&["flag", "a", "b", "--check", "os"]).command else {
            panic!("not flag");
        };
        let check = flag.step.probe.map(|probe| probe.check);
        assert_eq!(check, Some(Check::Native("os".to_owned())));
    }

    #[test]
    fn grounds_are_a_rule_of_the_ledger_and_not_of_the_command_line() {
        for words in [
            &["promote", "a"][..],
            &[
                "promote",
                "a",
                "--needs",
                "x",
                "--environment-independent",
                "w",
            ],
            &["claim", "a", "--check", "os"],
        ] {
            parsed(words);
        }
    }

    #[test]
    fn sessions_to_inherit_are_listed_by_spaces_commas_or_again() {
        let words = [
            "resume",
            "--agent",
            "a",
            "--inherit",
            "3",
            "5,7",
            "--inherit",
            "9",
            "--no-exec",
        ];
        let Command::Resume(resume) = parsed(&words).command else {
            panic!("not resume");
        };
        assert_eq!(resume.open.inherit, [3, 5, 7, 9].map(Seq));
    }
}
