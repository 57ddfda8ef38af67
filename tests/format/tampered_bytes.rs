//! Records that hold no event, or hold it in another spelling.

use crate::builder::Who::{Alice, Root};
use crate::builder::*;
use crate::vector::Vector;
use handoff_ledger::event::{Body, Unknown};
use handoff_ledger::format;

pub(crate) fn vectors() -> Vec<Vector> {
    let mut all = of_bytes();
    all.extend(of_spelling());
    all
}

/// The bytes of the event that would open a session next.
pub(crate) fn next_bytes(h: &History) -> String {
    let event = h.event(Alice, 0, h.opening_of(&[]));
    String::from_utf8(format::encode(&event).unwrap()).unwrap()
}

/// A chain whose third record is of these bytes, signed.
fn with_bytes(name: &str, fault: &str, comment: &str, bytes: &[u8]) -> Vector {
    let mut h = History::opened();
    h.add_bytes(Alice, bytes);
    Vector::tampered(name, comment, &h, fault, 2)
}

fn of_bytes() -> Vec<Vector> {
    let h = History::opened();
    let mut long = h.event(Alice, 0, h.opening_of(&[]));
    let body = |length: usize| Unknown {
        kind: "claim.blessed".into(),
        v: 1,
        body: format!("{{\"x\":\"{}\"}}", "x".repeat(length)),
    };
    long.body = Body::Unknown(body(0));
    let rest = format::encode(&long).unwrap().len();
    long.body = Body::Unknown(body(format::EVENT_BYTES_MAX - rest));
    let longest = format::encode(&long).unwrap();
    let over = String::from_utf8(longest).unwrap().replacen("xx", "xxx", 1);
    vec![
        with_bytes(
            "tampered-length",
            "length",
            "a record of 65,536 bytes",
            over.as_bytes(),
        ),
        with_bytes(
            "tampered-length-short",
            "length",
            "a record of 64 bytes",
            b"",
        ),
    ]
}

/// Other spellings of an event, and texts that spell none.
fn of_spelling() -> Vec<Vector> {
    let good = next_bytes(&History::opened());
    let time = "\"time\":\"2026-01-05T09:00:02.000Z\"";
    [
        ("malformed", "", "{", "", "a text that is no JSON"),
        (
            "malformed",
            "-member",
            "\"v\":1",
            "\"v\":1,\"w\":1",
            "a member that the envelope does not have",
        ),
        (
            "malformed",
            "-missing",
            ",\"v\":1",
            "",
            "a member of the envelope that is missing",
        ),
        (
            "malformed",
            "-body-member",
            "\"inherits\":[]",
            "\"inherits\":[],\"more\":1",
            "a member that the kind does not have",
        ),
        (
            "malformed",
            "-body-missing",
            "\"inherits\":[],",
            "",
            "a member of the kind that is missing",
        ),
        (
            "malformed",
            "-twice",
            "\"seq\":2",
            "\"seq\":2,\"seq\":2",
            "a member twice",
        ),
        (
            "malformed",
            "-float",
            "\"seq\":2",
            "\"seq\":2.0",
            "a number that is no integer",
        ),
        (
            "malformed",
            "-integer",
            "\"seq\":2",
            "\"seq\":9007199254740992",
            "an integer of 2^53",
        ),
        (
            "malformed",
            "-hex",
            "\"prev\":\"",
            "\"prev\":\"0",
            "65 hexadecimal digits",
        ),
        (
            "malformed",
            "-kind",
            "session.opened",
            "session",
            "a kind of one word",
        ),
        ("malformed", "-version", "\"v\":1", "\"v\":0", "version 0"),
        (
            "malformed",
            "-name",
            "\"agent\":\"vector\"",
            "\"agent\":\"Vector\"",
            "a name with a capital letter",
        ),
        (
            "malformed",
            "-set",
            "\"inherits\":[]",
            "\"inherits\":[1,1]",
            "a set that is not strictly ascending",
        ),
        (
            "malformed",
            "-time",
            time,
            "\"time\":\"2026-01-05T09:00:02Z\"",
            "a time without milliseconds",
        ),
        (
            "malformed",
            "-date",
            time,
            "\"time\":\"2026-02-29T09:00:02.000Z\"",
            "a day that there is not",
        ),
        (
            "malformed",
            "-surrogate",
            "\"inherits\":[]",
            "\"inherits\":[],\"purpose\":\"\\ud800\"",
            "half a surrogate pair",
        ),
        (
            "not_canonical",
            "",
            "\"v\":1}",
            "\"v\":1} ",
            "a space at the end",
        ),
        (
            "not_canonical",
            "-space",
            "\"seq\":2",
            "\"seq\": 2",
            "a space within",
        ),
        (
            "not_canonical",
            "-order",
            "\"seq\":2,\"session\":0",
            "\"session\":0,\"seq\":2",
            "members out of order",
        ),
        (
            "not_canonical",
            "-escape",
            "\"agent\":\"vector\"",
            "\"agent\":\"\\u0076ector\"",
            "an escape where none is needed",
        ),
        (
            "not_canonical",
            "-slash",
            "\"inherits\":[]",
            "\"inherits\":[],\"purpose\":\"a\\/b\"",
            "a slash escaped",
        ),
        (
            "not_canonical",
            "-escape-case",
            "\"inherits\":[]",
            "\"inherits\":[],\"purpose\":\"a\\u001F\"",
            "an escape in capital hexadecimal",
        ),
        (
            "not_canonical",
            "-null",
            "\"inherits\":[]",
            "\"inherits\":[],\"purpose\":null",
            "an optional member that is null",
        ),
    ]
    .into_iter()
    .map(|(fault, variant, from, to, comment)| {
        let bytes = if to.is_empty() && variant.is_empty() {
            from.to_owned()
        } else {
            let changed = good.replacen(from, to, 1);
            assert_ne!(changed, good, "{comment}");
            changed
        };
        let name = format!("tampered-{fault}{variant}");
        with_bytes(&name, fault, comment, bytes.as_bytes())
    })
    .chain(of_unknown_bodies())
    .collect()
}

/// The body of a kind that is not known is any canonical object.
fn of_unknown_bodies() -> Vec<Vector> {
    let h = History::opened();
    let mut event = h.event(Root, 0, h.opening_of(&[]));
    event.body = Body::Unknown(Unknown {
        kind: "claim.blessed".into(),
        v: 1,
        body: "{\"x\":1}".into(),
    });
    let good = String::from_utf8(format::encode(&event).unwrap()).unwrap();
    let deep = format!("{}{}", "[".repeat(32), "]".repeat(32));
    [
        (
            "malformed",
            "-unknown-null",
            "null",
            "a body of an unknown kind with a null",
        ),
        (
            "malformed",
            "-unknown-float",
            "1.5",
            "a body of an unknown kind with a fraction",
        ),
        (
            "malformed",
            "-unknown-integer",
            "-9007199254740992",
            "a body of an unknown kind with -2^53",
        ),
        (
            "malformed",
            "-unknown-depth",
            &deep,
            "a body of an unknown kind nested 33 deep",
        ),
        (
            "not_canonical",
            "-unknown-order",
            "{\"b\":1,\"a\":1}",
            "a body of an unknown kind out of order",
        ),
    ]
    .into_iter()
    .map(|(fault, variant, to, comment)| {
        let bytes = good.replacen("{\"x\":1}", &format!("{{\"x\":{to}}}"), 1);
        let mut h = History::opened();
        h.add_bytes(Root, bytes.as_bytes());
        Vector::tampered(&format!("tampered-{fault}{variant}"), comment, &h, fault, 2)
    })
    .collect()
}
