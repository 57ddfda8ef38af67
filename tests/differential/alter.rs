//! Ways to alter a ledger, by one who has no key, and by one who has them all.

use crate::support::Who;
use crate::support::ledger::Made;
use handoff_ledger::chain;
use handoff_ledger::hash;
use handoff_ledger::types::PublicKey;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A ledger as it is shown to the verifiers.
pub struct Altered {
    /// What was done to it.
    pub way: &'static str,
    /// Whether it is a file; else it is an export.
    pub is_file: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where choices come from: SplitMix64.
pub struct Chance(u64);

impl Chance {
    /// The choices of a seed.
    pub fn of(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap().max(1);
        usize::try_from(self.next() % bound).unwrap()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

type Records = Vec<Vec<u8>>;
type Alter = fn(&mut Records, &mut Chance);

/// What is done, as often as its weight says.
const ALTERATIONS: &[(usize, &str, Alter)] = &[
    (10, "nothing", |_, _| {}),
    (2, "a bit turned", |records, chance| {
        turn_a_bit(records, chance);
    }),
    (1, "a record left out", leave_out),
    (1, "a record twice", repeat),
    (1, "two records swapped", |records, chance| {
        swap(records, chance);
    }),
    (1, "cut", cut),
    (1, "another's signature", |records, chance| {
        sign_for_another(records, chance);
    }),
    (
        12,
        "a member changed, signed and linked",
        |records, chance| {
            change(records, chance, Rest::Linked);
        },
    ),
    (2, "a member changed and signed", |records, chance| {
        change(records, chance, Rest::AsItIs);
    }),
    (4, "another signer", |records, chance| {
        resign(records, chance);
    }),
    (1, "another spelling, signed", |records, chance| {
        respell(records, chance);
    }),
    (1, "a record appended", append),
];

/// What is done to a text after it was written.
pub const TEXT_CHANGED: &str = "a byte of the text changed";

/// In how many ways a ledger may come, one of them a text that is altered after it was written.
pub const WAYS: usize = ALTERATIONS.len() + 1;

/// The ledger of records, altered in a way that chance picks.
pub fn some_way(mut records: Vec<Vec<u8>>, chance: &mut Chance) -> Altered {
    let all: usize = ALTERATIONS.iter().map(|(weight, ..)| weight).sum();
    let mut left = chance.below(all);
    let mut way = "nothing";
    for (weight, name, alter) in ALTERATIONS {
        if left < *weight {
            way = name;
            alter(&mut records, chance);
            break;
        }
        left -= weight;
    }
    if records.is_empty() {
        records.push(b"nothing is left".to_vec());
    }
    let made = Made {
        records,
        captures: Vec::new(),
    };
    let fits = |record: &Vec<u8>| handoff_ledger::export::event_line(record).is_ok();
    if chance.below(8) == 0 || !made.records.iter().all(fits) {
        return Altered {
            way,
            is_file: true,
            bytes: made.file(),
        };
    }
    let mut bytes = made.export().into_bytes();
    if chance.below(20) == 0 {
        way = TEXT_CHANGED;
        let at = chance.below(bytes.len());
        bytes[at] = *chance.pick(b"\n\" ,:{}[]0a9zA\\x\xc3").unwrap();
    }
    Altered {
        way,
        is_file: false,
        bytes,
    }
}

fn turn_a_bit(records: &mut [Vec<u8>], chance: &mut Chance) {
    let at = chance.below(records.len());
    let byte = chance.below(records[at].len());
    records[at][byte] ^= 1 << chance.below(8);
}

fn leave_out(records: &mut Vec<Vec<u8>>, chance: &mut Chance) {
    let at = chance.below(records.len());
    records.remove(at);
}

fn repeat(records: &mut Vec<Vec<u8>>, chance: &mut Chance) {
    let at = chance.below(records.len());
    let record = records[at].clone();
    let to = chance.below(records.len() + 1);
    records.insert(to, record);
}

fn swap(records: &mut [Vec<u8>], chance: &mut Chance) {
    let (one, other) = (chance.below(records.len()), chance.below(records.len()));
    records.swap(one, other);
}

fn cut(records: &mut Vec<Vec<u8>>, chance: &mut Chance) {
    let length = 1 + chance.below(records.len());
    records.truncate(length);
}

/// The same event under the signature of another key than it names.
fn sign_for_another(records: &mut [Vec<u8>], chance: &mut Chance) {
    let at = chance.below(records.len());
    let who = *chance.pick(&Who::ALL).unwrap();
    let (_, bytes) = chain::split(&records[at]).unwrap();
    records[at] = [&who.signing_key().sign(bytes), bytes].concat();
}

/// Whether the records after an altered one are signed anew, so that the chain holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Linked,
    AsItIs,
}

/// An event of which one member says something else.
fn change(records: &mut [Vec<u8>], chance: &mut Chance, rest: Rest) {
    let pool = pool(records);
    let at = chance.below(records.len());
    let Some(mut event) = parse(&records[at]) else {
        return;
    };
    for _ in 0..=chance.below(2) {
        change_member(&mut event, &pool, chance);
    }
    put(records, at, &event, rest);
}

/// An event signed by another key, and of another session.
fn resign(records: &mut [Vec<u8>], chance: &mut Chance) {
    let at = chance.below(records.len());
    let Some(mut event) = parse(&records[at]) else {
        return;
    };
    let mut everyone = Who::ALL.to_vec();
    everyone.extend([Who::Extra(0), Who::Extra(1), Who::Extra(2)]);
    let who = *chance.pick(&everyone).unwrap();
    event["key"] = who.key().to_string().into();
    if chance.below(2) == 0 {
        event["session"] = chance.below(records.len()).into();
    }
    put(records, at, &event, Rest::Linked);
}

/// An event spelt otherwise than it must be, signed all the same.
fn respell(records: &mut [Vec<u8>], chance: &mut Chance) {
    let at = chance.below(records.len());
    let Some(event) = parse(&records[at]) else {
        return;
    };
    let text = event.to_string();
    let spelt = match chance.below(4) {
        0 => format!("{text} "),
        1 => text.replacen(":", ": ", 1),
        2 => text.replacen('a', "\\u0061", 1),
        _ => text.replacen("\"v\":1", "\"v\":1.0", 1),
    };
    records[at] = signed(&event, spelt.into_bytes());
    link(records, at + 1);
}

fn append(records: &mut Vec<Vec<u8>>, chance: &mut Chance) {
    let mut record = records[chance.below(records.len())].clone();
    if let Some(mut event) = parse(&record).filter(|_| chance.below(4) > 0) {
        event["seq"] = records.len().into();
        let text = event.to_string();
        record = signed(&event, text.into_bytes());
    }
    records.push(record);
    let last = records.len() - 1;
    link(records, last);
}

fn parse(record: &[u8]) -> Option<Value> {
    let (_, bytes) = chain::split(record).ok()?;
    let event: Value = serde_json::from_slice(bytes).ok()?;
    event.is_object().then_some(event)
}

/// Who has which key.
static KEYS: LazyLock<BTreeMap<PublicKey, Who>> = LazyLock::new(|| {
    let everyone = Who::ALL.into_iter().chain((0..100).map(Who::Extra));
    everyone.map(|who| (who.key(), who)).collect()
});

/// The bytes under the signature of whoever the event names; of a stranger if that is nobody.
fn signed(event: &Value, bytes: Vec<u8>) -> Vec<u8> {
    let key = event["key"].as_str().and_then(|key| key.parse().ok());
    let who = key.and_then(|key| KEYS.get(&key)).copied();
    let key = who.unwrap_or(Who::Stranger).signing_key();
    [&key.sign(&bytes), bytes.as_slice()].concat()
}

fn put(records: &mut [Vec<u8>], at: usize, event: &Value, rest: Rest) {
    records[at] = signed(event, event.to_string().into_bytes());
    if rest == Rest::Linked {
        link(records, at + 1);
    }
}

/// Links and signs anew from there on.
fn link(records: &mut [Vec<u8>], from: usize) {
    for at in from..records.len() {
        let Some(before) = at.checked_sub(1) else {
            continue;
        };
        let leaf = hash::leaf(&records[before]);
        if let Some(mut event) = parse(&records[at]) {
            event["prev"] = leaf.to_string().into();
            records[at] = signed(&event, event.to_string().into_bytes());
        }
    }
}

/// What members of each name hold anywhere in the ledger.
type Pool = BTreeMap<String, Vec<Value>>;

fn pool(records: &[Vec<u8>]) -> Pool {
    fn gather(pool: &mut Pool, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    pool.entry(name.clone()).or_default().push(value.clone());
                    gather(pool, value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| gather(pool, item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut pool = Pool::new();
    for event in records.iter().filter_map(|record| parse(record)) {
        gather(&mut pool, &event);
    }
    pool
}

fn change_member(event: &mut Value, pool: &Pool, chance: &mut Chance) {
    // Mostly within the body, where the rules are about.
    match chance.below(5) {
        0 => change_within(event, pool, chance),
        _ => change_within(&mut event["body"], pool, chance),
    }
}

fn change_within(place: &mut Value, pool: &Pool, chance: &mut Chance) {
    match place {
        Value::Object(members) if !members.is_empty() => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = chance.pick(&names).unwrap();
            let nested = &mut members[name];
            if (nested.is_object() || nested.is_array()) && chance.below(3) > 0 {
                change_within(nested, pool, chance);
            } else {
                change_named(members, name, pool, chance);
            }
        }
        Value::Array(items) if items.is_empty() => items.push(1.into()),
        Value::Array(items) => {
            let at = chance.below(items.len());
            match chance.below(5) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.reverse(),
                _ => change_within(&mut items[at], pool, chance),
            }
        }
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => *other = other_than(other, chance),
    }
}

fn change_named(members: &mut Map<String, Value>, name: &str, pool: &Pool, chance: &mut Chance) {
    let known = pool.get(name).map(Vec::as_slice).unwrap_or_default();
    match chance.below(20) {
        0 => drop(members.remove(name)),
        1 => drop(members.insert("zz".to_owned(), 1.into())),
        2 | 3 => {
            let other = other_than(&members[name], chance);
            members.insert(name.to_owned(), other);
        }
        // A member that some events have and this one has not.
        4 => {
            let names: Vec<&String> = pool.keys().collect();
            if let Some(other) = chance.pick(&names) {
                let value = chance.pick(&pool[*other]).unwrap().clone();
                members.insert((*other).clone(), value);
            }
        }
        _ => {
            if let Some(value) = chance.pick(known) {
                members.insert(name.to_owned(), value.clone());
            }
        }
    }
}

fn other_than(value: &Value, chance: &mut Chance) -> Value {
    match value {
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or_default();
            match chance.below(6) {
                0 => Value::from(number.wrapping_add(1)),
                1 => Value::from(number.saturating_sub(1)),
                2 => Value::from(0),
                3 => Value::from((1_u64 << 53) - 1),
                4 => Value::from(1_u64 << 53),
                _ => Value::from(chance.below(40)),
            }
        }
        Value::String(text) => match chance.below(7) {
            0 => "".into(),
            1 => format!("{text} ").into(),
            2 => text.to_uppercase().into(),
            3 => "x".repeat(5000).into(),
            4 => text.chars().rev().collect::<String>().into(),
            5 => format!("{text}\u{1}\u{7f}\u{e9}\u{1f600}").into(),
            _ => format!("0{text}").into(),
        },
        Value::Bool(it) => Value::from(!it),
        Value::Null | Value::Array(_) | Value::Object(_) => Value::from(true),
    }
}
