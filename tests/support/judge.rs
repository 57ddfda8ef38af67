//! A file through the very path of `verify FILE`: opened as evidence, every record walked.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    reason = "each test uses a part of the helpers"
)]

use handoff_ledger::chain::{self, Remembered};
use handoff_ledger::cli::output::Output;
use handoff_ledger::cli::report::Failure;
use handoff_ledger::cli::source::{self, Lines, Opened, Source};
use handoff_ledger::export::Line;
use handoff_ledger::hash;
use handoff_ledger::state::State;
use handoff_ledger::store::Read as _;
use handoff_ledger::types::{PublicKey, Seq};
use handoff_ledger::verify::{Basis, Listed, Outside, Report, Verification, Verifier};
use std::path::Path;

/// More rows than any file of the tests has.
const ROWS_MAX: usize = 4096;

/// What `verify FILE` says of a file, and the fold that it said it of.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// It could not be looked at: no ledger, or newer than this program.
    NotLookedAt(String),
    /// It is broken, cut off, or other than what was signed.
    Rejected(Box<Report>),
    /// It is one chain, lawful or not.
    Accepted(Box<Report>, Box<State>),
}

impl Judged {
    /// The result's name.
    pub fn result(&self) -> &'static str {
        match self {
            Judged::NotLookedAt(_) => Verification::Error.as_str(),
            Judged::Rejected(report) | Judged::Accepted(report, _) => report.result.as_str(),
        }
    }

    /// Whether it passes for a whole chain.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Judged::Accepted(..))
    }
}

/// What a judge that is to be caught does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blind {
    /// Nothing escapes the product's own.
    Nothing,
    /// Links and signatures are taken for good.
    Signatures,
    /// What is wrong with the pages of the file is not told.
    Damage,
}

/// How a file is judged.
#[derive(Debug, Clone)]
pub struct Way {
    /// Signatures that are not verified anew.
    pub remembered: Option<Remembered>,
    /// The head that somebody wrote down.
    pub expect: Option<String>,
    /// The root that is trusted.
    pub root: Option<PublicKey>,
    /// What is left out.
    pub blind: Blind,
}

impl Way {
    /// The product's.
    pub fn strict() -> Way {
        Way {
            remembered: None,
            expect: None,
            root: None,
            blind: Blind::Nothing,
        }
    }

    /// The product's, each signature once.
    pub fn remembering(remembered: &Remembered) -> Way {
        Way {
            remembered: Some(remembered.clone()),
            ..Way::strict()
        }
    }
}

/// Judges a file.
pub fn judge(path: &Path, way: &Way) -> Judged {
    let judged = look(path, way).unwrap_or_else(|failure| Judged::NotLookedAt(failure.message));
    match (way.blind, judged) {
        (Blind::Signatures, Judged::Rejected(report)) => unsigned(path, report),
        (Blind::Nothing | Blind::Damage | Blind::Signatures, judged) => judged,
    }
}

fn look(path: &Path, way: &Way) -> Result<Judged, Failure> {
    let mut opened: Opened = source::file(path)?;
    if way.blind == Blind::Damage {
        opened.faults.clear();
    }
    let expect = way.expect.as_ref();
    let mut verifier = Verifier::new(Outside {
        expect: expect.map(|text| text.parse().expect("it is a head line")),
        elsewhere: true,
        ..Outside::default()
    });
    if let Some(remembered) = &way.remembered {
        verifier = verifier.remembering(remembered.clone());
    }
    source::walk(&mut opened, &mut verifier, &mut Output::mute())?;
    let state = verifier.is_intact().then(|| verifier.state().clone());
    let root = verifier.state().ledger().map(|ledger| ledger.root);
    let basis = match root.is_some() && root == way.root {
        true => Basis::Given,
        false => Basis::Unpinned,
    };
    let report = Box::new(verifier.finish(basis));
    Ok(match (report.result, state) {
        (
            Verification::Error
            | Verification::Tampered
            | Verification::Incomplete
            | Verification::Empty,
            _,
        )
        | (_, None) => Judged::Rejected(report),
        (
            Verification::Unlawful
            | Verification::Undetermined
            | Verification::SelfConsistent
            | Verification::Verified,
            Some(state),
        ) => Judged::Accepted(report, Box::new(state)),
    })
}

/// What a judge says who asks of each record only that it is an event.
fn unsigned(path: &Path, mut report: Box<Report>) -> Judged {
    let mut state = State::new();
    for (seq, record) in (0..).map(Seq).zip(records(path)) {
        match chain::accept(seq, &record, hash::leaf(&record)) {
            Ok(event) => drop(state.apply(&event)),
            Err(_) => return Judged::Rejected(report),
        }
    }
    if state.head().is_none() {
        return Judged::Rejected(report);
    }
    report.head = state.head();
    report.events = report.records;
    report.faults = Listed::default();
    report.result = Verification::SelfConsistent;
    Judged::Accepted(report, Box::new(state))
}

/// The records of a file, up to the first that cannot be read.
pub fn records(path: &Path) -> Vec<Vec<u8>> {
    match source::file(path).map(|opened| opened.source) {
        Ok(Source::Copy(evidence)) => {
            let rows = evidence.scan(Seq::ZERO, ROWS_MAX).unwrap_or_default();
            rows.into_iter().map(|(_, record)| record.0).collect()
        }
        Ok(Source::Export(file)) => {
            let mut records = Vec::new();
            if let Ok(mut lines) = Lines::of(&file) {
                while let Ok(Some(line)) = lines.next_line() {
                    if let Line::Record(record) = line {
                        records.push(record);
                    }
                }
            }
            records
        }
        Ok(Source::Own(_) | Source::Unreadable) | Err(_) => Vec::new(),
    }
}
