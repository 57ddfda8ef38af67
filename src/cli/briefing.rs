//! The text that a successor reads first: blocked things first, then what to verify first, then
//! what may be relied on, within so many characters.

use super::args::Common;
use super::quote::{quoted_within, visible};
use super::render::{
    because_text, claim_text, claims, next_for, probe_text, reasons_text, weak_text,
};
use crate::judge::Judge;
use crate::state::State;
use crate::types::ClaimId;
use crate::verdict::{ClaimState, ClaimVerdict};
use std::collections::BTreeSet;

/// Most characters of a derivation that are shown.
const DERIVATION_CHARACTERS_MAX: usize = 200;
/// Most characters of a step that are shown.
const STEP_CHARACTERS_MAX: usize = 400;
/// Longest command to type next that is shown, in characters: no part of one can be typed, and
/// `can` shows the whole.
const NEXT_CHARACTERS_MAX: usize = 1000;
/// Most reasons, and most names of axes, that are shown of a claim.
const LISTED_MAX: usize = 4;
/// Characters to a token, as the estimate of a budget takes it: rather too many tokens than too
/// few. (Of a brief, English between ids, paths and quoted commands, o200k and cl100k take 3.2.)
const TOKEN_CHARACTERS: usize = 3;

/// How many characters fit so many tokens of a language model, by estimate: no tokenizer is asked.
pub fn characters_of_tokens(tokens: usize) -> usize {
    tokens.saturating_mul(TOKEN_CHARACTERS)
}

/// How the text is marked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Not at all.
    Plain,
    /// As Markdown, in which all that a predecessor wrote stands in code.
    Markdown,
}

/// One claim: its line, and what belongs below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    line: String,
    below: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    heading: &'static str,
    items: Vec<Item>,
}

/// What a session is to know of its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    title: String,
    bar: Option<String>,
    unfinished: Option<String>,
    sections: Vec<Section>,
    commands: Vec<String>,
}

impl Briefing {
    /// The briefing of a session.
    pub fn of(state: &State, judge: &Judge<'_>, common: &Common, title: String) -> Briefing {
        let bar = judge.barred();
        let mut blocked = Vec::new();
        let mut provisional = Vec::new();
        let mut relied_on = Vec::new();
        for (id, verdict) in &claims(state, judge, None) {
            if verdict.admissible {
                relied_on.push(relied_on_item(state, id, verdict));
            } else if verdict.state == ClaimState::ProvisionalUnverified {
                provisional.push(provisional_item(state, judge, common, id, verdict));
            } else {
                blocked.push(blocked_item(state, judge, common, id, verdict));
            }
        }
        let section = |heading, items| Section { heading, items };
        let of = judge
            .session()
            .map_or(String::new(), |session| format!(" --session {session}"));
        let typed = |command: &str| common.carried(&format!("{command}{of}"));
        let mut commands = vec![
            format!("before acting on a claim: {}", typed("handoff can ID")),
            format!("all of it: {}", typed("handoff state")),
        ];
        if bar.is_some() {
            commands.insert(
                0,
                format!(
                    "to act on anything: {}",
                    common.carried("handoff resume --agent NAME")
                ),
            );
        }
        let sections = [
            section("BLOCKED: do not act on these", blocked),
            section(
                "VERIFY FIRST: do not act on these until their step succeeds",
                provisional,
            ),
            section("MAY BE RELIED ON", relied_on),
        ];
        Briefing {
            title,
            unfinished: unfinished(state, common),
            bar: bar.map(|bar| format!("Nothing is admissible: {}", because_text(state, &bar))),
            sections: sections
                .into_iter()
                .filter(|section| !section.items.is_empty())
                .collect(),
            commands,
        }
    }

    /// The same, with one command to type in place of those of a ledger that may be acted on.
    pub fn only(self, command: String) -> Briefing {
        let commands = vec![command];
        Briefing { commands, ..self }
    }

    /// The text, of at most so many characters if these are enough for the title, the headings and
    /// the commands. What does not fit is counted where it would stand.
    pub fn text(&self, markup: Markup, characters_max: usize) -> String {
        let mut budget = characters_max.saturating_sub(self.text_of(markup, &[]).chars().count());
        let mut shown = Vec::new();
        for section in &self.sections {
            let mut fit = 0;
            for item in &section.items {
                let length = item.text(markup).chars().count();
                if length > budget {
                    break;
                }
                budget -= length;
                fit += 1;
            }
            shown.push(fit);
        }
        self.text_of(markup, &shown)
    }

    /// The text with the first so many items of each section.
    fn text_of(&self, markup: Markup, shown: &[usize]) -> String {
        let mut text = String::new();
        text += &match markup {
            Markup::Plain => format!("{}\n", self.title),
            Markup::Markdown => format!("# {}\n", self.title),
        };
        if let Some(line) = &self.bar {
            text += &format!("{line}\n");
        }
        if let Some(line) = &self.unfinished {
            text += &format!("{line}\n");
        }
        if self.sections.is_empty() {
            text += "No claims.\n";
        }
        for (index, section) in self.sections.iter().enumerate() {
            text += &heading(markup, section.heading);
            let fit = shown.get(index).copied().unwrap_or(0);
            for item in section.items.iter().take(fit) {
                text += &item.text(markup);
            }
            let left = section.items.len().saturating_sub(fit);
            if left > 0 {
                text += &format!("- and {left} more, left out here\n");
            }
        }
        text += &heading(markup, "COMMANDS");
        for command in &self.commands {
            text += &format!("- {command}\n");
        }
        text
    }
}

/// One line however many there are.
fn unfinished(state: &State, common: &Common) -> Option<String> {
    let last = state.unfinished().last()?.seq;
    let look = common.carried(&format!("handoff show {last}"));
    let said = match state.unfinished().count() {
        1 => format!("A gated command runs still or never came back: {look}"),
        count => format!("{count} gated commands run still or never came back, the last: {look}"),
    };
    Some(said)
}

fn heading(markup: Markup, heading: &str) -> String {
    match markup {
        Markup::Plain => format!("\n{heading}\n"),
        Markup::Markdown => format!("\n## {heading}\n\n"),
    }
}

impl Item {
    fn text(&self, markup: Markup) -> String {
        let mut text = format!("- {}\n", marked(markup, &self.line));
        for line in &self.below {
            text += &format!("  - {}\n", marked(markup, line));
        }
        text
    }
}

/// A line in which nothing is markup. Code in Markdown ends at as many backticks as it begins with
/// (CommonMark section 6.1), so more stand around it than anywhere in it.
fn marked(markup: Markup, line: &str) -> String {
    let line = visible(line);
    match markup {
        Markup::Plain => line.into_owned(),
        Markup::Markdown => {
            let runs = line.split(|character| character != '`');
            let longest = runs.map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest + 1);
            format!("{fence} {line} {fence}")
        }
    }
}

/// What to type next of a claim, or what shows it.
fn next_line(
    state: &State,
    judge: &Judge<'_>,
    common: &Common,
    id: &ClaimId,
    verdict: &ClaimVerdict,
) -> String {
    let next = next_for(state, id, verdict, judge.session());
    let next = match judge.session() {
        Some(session) if next.chars().count() > NEXT_CHARACTERS_MAX => {
            format!("handoff can {id} --session {session}")
        }
        Some(_) | None => next,
    };
    format!("next: {}", common.carried(&next))
}

fn and_more(shown: String, left: usize) -> String {
    match left {
        0 => shown,
        left => format!("{shown}, and {left} more"),
    }
}

/// The text of a step, as far as a brief shows it.
fn cut(step: String) -> String {
    match step.char_indices().nth(STEP_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", step.get(..end).unwrap_or_default()),
        None => step,
    }
}

fn blocked_item(
    state: &State,
    judge: &Judge<'_>,
    common: &Common,
    id: &ClaimId,
    verdict: &ClaimVerdict,
) -> Item {
    let mut below = Vec::new();
    if judge.barred().is_none() {
        let (shown, left) = verdict
            .because
            .split_at(LISTED_MAX.min(verdict.because.len()));
        below.push(and_more(reasons_text(state, shown), left.len()));
        below.push(next_line(state, judge, common, id, verdict));
    }
    Item {
        line: claim_text(state, id, verdict),
        below,
    }
}

fn provisional_item(
    state: &State,
    judge: &Judge<'_>,
    common: &Common,
    id: &ClaimId,
    verdict: &ClaimVerdict,
) -> Item {
    let mut below = Vec::new();
    if let Some(flag) = verdict.flag.and_then(|flag| state.flags().get(&flag)) {
        let derivation = quoted_within(flag.body.derivation.as_str(), DERIVATION_CHARACTERS_MAX);
        below.push(format!("derived from {derivation}"));
        below.push(format!("step: {}", cut(probe_text(&flag.body.step))));
    }
    if judge.barred().is_none() {
        below.push(next_line(state, judge, common, id, verdict));
    }
    Item {
        line: claim_text(state, id, verdict),
        below,
    }
}

fn relied_on_item(state: &State, id: &ClaimId, verdict: &ClaimVerdict) -> Item {
    let support = verdict.support.and_then(|seq| state.supports().get(&seq));
    let needs: BTreeSet<&str> = support
        .into_iter()
        .flat_map(|support| &support.body.needs)
        .filter_map(|axis| state.axes().get(axis))
        .map(|record| record.body.axis.as_str())
        .collect();
    let mut below = Vec::new();
    if !needs.is_empty() {
        let shown: Vec<&str> = needs.iter().copied().take(LISTED_MAX).collect();
        let left = needs.len().saturating_sub(LISTED_MAX);
        let shown = format!("while these hold: {}", shown.join(", "));
        below.push(and_more(shown, left));
    }
    below.extend(weak_text(&verdict.weak));
    Item {
        line: claim_text(state, id, verdict),
        below,
    }
}
