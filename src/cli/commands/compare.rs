//! `compare`: two copies of a ledger, and where they part.
//!
//! Two validly signed events after the same event are a fork; by one key, they prove by themselves
//! that its holder signed two histories. The two lines are all that the proof needs: each event
//! holds its key, its position and the hash of what was before.

use crate::chain::{VerifiedEvent, Walk};
use crate::cli::args::{Common, Compare};
use crate::cli::context;
use crate::cli::examine::{Examination, Subject, examine};
use crate::cli::examined::shortfall;
use crate::cli::known::Against;
use crate::cli::output::Output;
use crate::cli::render::head_json;
use crate::cli::report::{Exit, Failure};
use crate::cli::source::Opened;
use crate::export::{self, event_line};
use crate::refusal::Rule;
use crate::state::State;
use crate::store::Record;
use crate::types::{Head, Leaf, LedgerId, PublicKey, Seq};
use crate::verify::{Fault, Report};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "handoff.compare.v1";
/// How many lines a proof has.
const PROOF_LINES: usize = 2;

/// How two copies stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They hold the same events.
    Same,
    /// One holds all of the other, and more.
    Prefix,
    /// They part: two events were signed after the same one.
    Fork,
    /// They have not one event in common.
    DifferentLedgers,
    /// One of them is not whole, and up to there they hold the same.
    Unknown,
}

impl Relation {
    fn as_str(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Prefix => "prefix",
            Relation::Fork => "fork",
            Relation::DifferentLedgers => "different_ledgers",
            Relation::Unknown => "unknown",
        }
    }
}

/// One copy, verified whole.
struct Side {
    path: PathBuf,
    opened: Opened,
    report: Report,
    state: State,
    /// Of the intact part.
    leaves: Vec<Leaf>,
}

/// One of the two events at which copies part.
struct Branch {
    event: VerifiedEvent,
    line: String,
    /// How it was judged, where the ledger that it is of is at hand.
    judgement: Option<Judgement>,
}

/// Whether the rules permit an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Lawful,
    /// It is without effect, by this rule.
    Refused(Rule),
}

/// What was found.
struct Compared {
    relation: Relation,
    /// The last event that both hold.
    common: Option<Head>,
    /// Where they part, or the shorter one ends: the first position that is not in both.
    at: Seq,
    branches: Option<[Branch; 2]>,
}

impl Compared {
    /// The key that signed both events, if it is one.
    fn equivocated(&self) -> Option<PublicKey> {
        let [one, other] = self.branches.as_ref()?;
        let key = one.event.event().key;
        (key == other.event.event().key).then_some(key)
    }
}

pub(super) fn run(
    common: &Common,
    request: &Compare,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(second) = &request.second else {
        return proof(&request.first, output);
    };
    let sides = [
        side(common, &request.first, output)?,
        side(common, second, output)?,
    ];
    let compared = compare(&sides)?;
    if let (Some(out), Some(branches)) = (&request.out, &compared.branches) {
        write(out, branches)?;
    }
    print(&sides, &compared, output);
    let exit = exit(&sides, compared.relation);
    output.document(SCHEMA, exit, body(&sides, &compared));
    Ok(exit)
}

/// Opens and verifies a copy: this machine's own ledger where it lies, any other as evidence.
fn side(common: &Common, path: &Path, output: &mut Output) -> Result<Side, Failure> {
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    let path = cwd.join(path);
    let whose = context::whose_is(&path, &cwd, &folders)?;
    let Examination {
        opened,
        report,
        state,
        ..
    } = examine(common, &folders, Subject::of(path.clone(), whose), output)?;
    let mut leaves = Vec::new();
    if let Some(head) = report.head {
        opened.records(Seq::ZERO, head.seq, |_, record| leaves.push(record.leaf()))?;
    }
    Ok(Side {
        path,
        opened,
        report,
        state,
        leaves,
    })
}

fn compare(sides: &[Side; 2]) -> Result<Compared, Failure> {
    let [one, other] = sides;
    let same = one.leaves.iter().zip(&other.leaves);
    let shared = same.take_while(|(one, other)| one == other).count();
    let at = Seq(u64::try_from(shared).unwrap_or(u64::MAX));
    let ends = |side: &Side| side.leaves.len() == shared;
    // What it was before, or is to be, says nothing of what it is now.
    let of_contents = |fault: &Fault| Against::of(fault) == Against::Contents;
    let whole = |side: &Side| !side.report.faults.items().iter().any(of_contents);
    let relation = if shared == 0 && !one.leaves.is_empty() && !other.leaves.is_empty() {
        Relation::DifferentLedgers
    } else if !ends(one) && !ends(other) {
        Relation::Fork
    } else if (ends(one) && !whole(one)) || (ends(other) && !whole(other)) {
        Relation::Unknown
    } else if ends(one) && ends(other) {
        Relation::Same
    } else {
        Relation::Prefix
    };
    let leaf = shared.checked_sub(1).and_then(|last| one.leaves.get(last));
    let common = (leaf.zip(one.leaves.first())).map(|(leaf, first)| Head {
        ledger: LedgerId(first.0),
        seq: Seq(at.0.saturating_sub(1)),
        leaf: *leaf,
    });
    let branches = match relation {
        Relation::Fork => {
            let before = common.map(|head| (head.seq, head.leaf));
            Some([branch(one, at, before)?, branch(other, at, before)?])
        }
        Relation::Same | Relation::Prefix | Relation::DifferentLedgers | Relation::Unknown => None,
    };
    Ok(Compared {
        relation,
        common,
        at,
        branches,
    })
}

/// The event of a copy at the position where it parts, verified once more.
fn branch(side: &Side, at: Seq, before: Option<(Seq, Leaf)>) -> Result<Branch, Failure> {
    let mut found = None;
    side.opened
        .records(at, at, |_, record| found = Some(record.clone()))?;
    let changed = || {
        let message = format!("{} was changed meanwhile", side.path.display());
        Failure::environment("changed", message).retryable()
    };
    let Record(record) = found.ok_or_else(changed)?;
    let event = Walk::after(before)
        .step(at, &record)
        .map_err(|_| changed())?;
    let line = event_line(&record).map_err(|_| changed())?;
    let judgement = match side.state.refused().get(&at) {
        Some(refusal) => Judgement::Refused(refusal.rule),
        None => Judgement::Lawful,
    };
    // Nothing was judged after what this program does not know.
    let is_judged = side.state.undetermined().is_none_or(|last| at <= last);
    Ok(Branch {
        event,
        line,
        judgement: is_judged.then_some(judgement),
    })
}

fn exit(sides: &[Side; 2], relation: Relation) -> Exit {
    let is = |exit| {
        sides
            .iter()
            .any(|side| shortfall(&side.report) == Some(exit))
    };
    if relation == Relation::Fork || is(Exit::Integrity) {
        Exit::Integrity
    } else if is(Exit::CannotJudge) {
        Exit::CannotJudge
    } else {
        match relation {
            Relation::Same | Relation::Prefix => Exit::Yes,
            Relation::DifferentLedgers => Exit::No,
            Relation::Fork | Relation::Unknown => Exit::Integrity,
        }
    }
}

fn print(sides: &[Side; 2], compared: &Compared, output: &mut Output) {
    let [one, other] = sides;
    let (one_path, other_path) = (one.path.display(), other.path.display());
    let told = match compared.relation {
        Relation::Same => format!("{one_path} and {other_path} hold the same events"),
        Relation::Prefix => {
            let is_first = one.leaves.len() < other.leaves.len();
            let (short, long) = match is_first {
                true => (one_path, other_path),
                false => (other_path, one_path),
            };
            format!("{short} ends before event {}, {long} goes on", compared.at)
        }
        Relation::Fork => format!("{one_path} and {other_path} part at event {}", compared.at),
        Relation::DifferentLedgers => {
            format!("{one_path} and {other_path} have no event in common")
        }
        Relation::Unknown => format!("one of the two is not whole from event {} on", compared.at),
    };
    output.verdict(compared.relation.as_str(), &told);
    match compared.common {
        Some(head) => output.line(&format!("common up to {head}")),
        None => output.line("nothing in common"),
    }
    for side in sides {
        let (path, result) = (side.path.display(), side.report.result.as_str());
        let events = side.report.events;
        output.line(&format!("{path}: {result}, {events} intact events"));
        if let Some(fault) = side.report.faults.items().first() {
            output.line(&format!("  fault {}: {}", fault.kind, fault.detail));
        }
        for why in &side.report.incomplete {
            output.line(&format!("  incomplete: {why}"));
        }
    }
    if let Some(branches) = &compared.branches {
        print_branches(branches, compared.equivocated(), output);
    }
    for what in not_proven(sides, compared) {
        output.line(&format!("not proven: {what}"));
    }
}

fn print_branches(branches: &[Branch; 2], equivocated: Option<PublicKey>, output: &mut Output) {
    match equivocated {
        Some(key) => output.line(&format!(
            "equivocation: key {key} signed both of these, which prove it wherever they are shown"
        )),
        None => output.line("two keys signed after the same event:"),
    }
    for branch in branches {
        if let Some(Judgement::Refused(rule)) = branch.judgement {
            output.line(&format!("without effect, refused by {rule}:"));
        }
        output.line(branch.line.trim_end());
    }
}

fn not_proven(sides: &[Side; 2], compared: &Compared) -> Vec<String> {
    let of = |side: &Side, what: &String| format!("of {}: {what}", side.path.display());
    let each = |side| move |what| of(side, what);
    let mut told: Vec<String> = (sides.iter())
        .flat_map(|side| side.report.not_proven.iter().map(each(side)))
        .collect();
    told.extend(not_proven_of_fork(compared));
    match compared.relation {
        Relation::Prefix | Relation::Same => told.push(
            "that the longer one is all there is: later events may have been cut off both"
                .to_owned(),
        ),
        Relation::Fork | Relation::DifferentLedgers | Relation::Unknown => {}
    }
    told
}

/// What two events after the same one leave open.
fn not_proven_of_fork(compared: &Compared) -> Vec<String> {
    let Some(branches) = &compared.branches else {
        return Vec::new();
    };
    let mut told = Vec::new();
    if compared.equivocated().is_none() {
        told.push(
            "who is at fault: each key signed one event, and either may have been the second"
                .to_owned(),
        );
    }
    for branch in branches {
        let (key, seq) = (branch.event.event().key, branch.event.event().seq);
        match branch.judgement {
            Some(Judgement::Lawful) => {}
            Some(Judgement::Refused(rule)) => told.push(format!(
                "that the ledger forked: the event {seq} of key {key} is refused by {rule} and \
                 without effect, and anyone can sign such a one"
            )),
            None => told.push(format!(
                "that key {key} might write event {seq}: that takes the ledger, and anyone can sign \
                 an event with a key of their own"
            )),
        }
    }
    told
}

fn body(sides: &[Side; 2], compared: &Compared) -> Value {
    let of = |side: &Side| {
        json!({
            "path": side.path.to_string_lossy(),
            "result": side.report.result,
            "ledger": side.report.ledger,
            "events": side.report.events,
            "head": side.report.head.as_ref().map(head_json),
            "signer": side.report.signer,
            "faults": side.report.faults.items(),
            "faults_total": side.report.faults.total(),
            "incomplete": side.report.incomplete,
        })
    };
    json!({
        "result": compared.relation.as_str(),
        "common": {
            "events": compared.at,
            "head": compared.common.as_ref().map(head_json),
        },
        "at": match compared.relation {
            Relation::Same => None,
            Relation::Prefix
            | Relation::Fork
            | Relation::DifferentLedgers
            | Relation::Unknown => Some(compared.at),
        },
        "sides": sides.iter().map(of).collect::<Vec<_>>(),
        "events": branches_json(compared.branches.as_ref()),
        "equivocation": compared.equivocated(),
        "not_proven": not_proven(sides, compared),
    })
}

fn branches_json(branches: Option<&[Branch; 2]>) -> Value {
    let of = |branch: &Branch| {
        let event = branch.event.event();
        let refused = branch.judgement.and_then(|judgement| match judgement {
            Judgement::Lawful => None,
            Judgement::Refused(rule) => Some(rule),
        });
        json!({
            "seq": event.seq, "prev": event.prev, "hash": branch.event.leaf(),
            "key": event.key, "kind": event.body.kind(), "line": branch.line,
            "refused": refused,
        })
    };
    match branches {
        Some(branches) => branches.iter().map(of).collect(),
        None => json!([]),
    }
}

fn write(out: &Path, branches: &[Branch; 2]) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        let message = format!("{} cannot be written: {error}", out.display());
        Failure::environment("io", message).next("handoff compare A B -o ANOTHER")
    };
    let mut file = (OpenOptions::new().write(true).create_new(true))
        .open(out)
        .map_err(refused)?;
    for branch in branches {
        file.write_all(branch.line.as_bytes()).map_err(refused)?;
    }
    file.sync_all().map_err(refused)
}

/// Checks a proof that `-o` wrote: two lines, each an event that its key signed, after one event.
fn proof(path: &Path, output: &mut Output) -> Result<Exit, Failure> {
    let [one, other] = proof_lines(path)?;
    let (first, second) = (one.event.event(), other.event.event());
    let differs = if first.seq == Seq::ZERO {
        Some("they are two ledgers' first events")
    } else if first.seq != second.seq || first.prev != second.prev {
        Some("they do not follow the same event")
    } else if one.event.leaf() == other.event.leaf() {
        Some("they are one and the same")
    } else {
        None
    };
    let branches = [one, other];
    if let Some(why) = differs {
        let message = format!("the two events are no fork: {why}");
        let failure = Failure::no("no_fork", message).next("handoff compare A B");
        return Err(failure.details(branches_json(Some(&branches))));
    }
    let compared = Compared {
        relation: Relation::Fork,
        common: None,
        at: branches
            .first()
            .map_or(Seq::ZERO, |it| it.event.event().seq),
        branches: Some(branches),
    };
    let what = format!("two events were signed as event {}", compared.at);
    output.verdict(Relation::Fork.as_str(), &what);
    if let Some(branches) = &compared.branches {
        print_branches(branches, compared.equivocated(), output);
    }
    let mut not_proven = not_proven_of_fork(&compared);
    not_proven
        .push("that what both follow is an event of any ledger: only its hash is here".into());
    for what in &not_proven {
        output.line(&format!("not proven: {what}"));
    }
    let body = json!({
        "result": Relation::Fork.as_str(),
        "not_proven": not_proven,
        "at": compared.at,
        "events": branches_json(compared.branches.as_ref()),
        "equivocation": compared.equivocated(),
        "not_proven": not_proven,
    });
    output.document(SCHEMA, Exit::Integrity, body);
    Ok(Exit::Integrity)
}

fn proof_lines(path: &Path) -> Result<[Branch; 2], Failure> {
    let none = |why: &str| {
        let message = format!("{} is no proof of a fork: {why}", path.display());
        Failure::environment("not_a_proof", message).next("handoff compare A B")
    };
    let longest = export::LINE_BYTES_MAX.saturating_mul(PROOF_LINES);
    let limit = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    crate::store::evidence::open_text(path)?
        .take(limit)
        .read_to_end(&mut text)
        .map_err(|error| none(&error.to_string()))?;
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let [one, other] = lines.as_slice() else {
        return Err(none(
            "expected two lines, as handoff compare A B -o wrote them",
        ));
    };
    let branch = |line: &[u8]| -> Result<Branch, Failure> {
        let record = export::record_of(line).ok_or_else(|| none("a line holds no event"))?;
        // Its own word for what was before is enough: that both say the same is compared.
        let event = Walk::alone(&record).map_err(|fault| none(&fault.to_string()))?;
        let line = event_line(&record).map_err(|_| none("a line holds no event"))?;
        let judgement = None;
        Ok(Branch {
            event,
            line,
            judgement,
        })
    };
    Ok([branch(one)?, branch(other)?])
}
