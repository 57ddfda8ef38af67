//! The text of an export: what is written reads back, and nothing else is read.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

use handoff_ledger::export::{
    ExportError, ExportedCapture, LINE_BYTES_MAX, Line, Reader, capture_line, event_line, header,
};
use handoff_ledger::hash::{self, SALT_BYTES};
use handoff_ledger::types::{
    CAPTURE_BYTES_MAX, Head, Leaf, LedgerId, RECORD_BYTES_MAX, SIGNATURE_BYTES, Seq,
};

fn record(event: &str) -> Vec<u8> {
    let mut record = vec![7; SIGNATURE_BYTES];
    record.extend_from_slice(event.as_bytes());
    record
}

fn head_of(records: &[Vec<u8>]) -> Head {
    Head {
        ledger: LedgerId(hash::leaf(records.first().unwrap()).0),
        seq: Seq(u64::try_from(records.len()).unwrap() - 1),
        leaf: hash::leaf(records.last().unwrap()),
    }
}

fn capture(salt: u8, bytes: &[u8]) -> ExportedCapture {
    let salt = [salt; SALT_BYTES];
    ExportedCapture {
        commitment: hash::commitment(&salt, bytes),
        bytes: Some(bytes.to_vec()),
        salt,
    }
}

fn read(text: &str) -> Result<(Vec<Line>, Head), ExportError> {
    let mut reader = Reader::new();
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        lines.push(reader.line(line.as_bytes())?);
    }
    Ok((lines, reader.finish()?))
}

fn export() -> (Vec<Vec<u8>>, String) {
    let records = vec![
        record("{\"a\":1}"),
        record("{\"b\":\"\\\",\\\"sig\\\":\\\"\"}"),
    ];
    let mut text = header(&head_of(&records));
    for record in &records {
        text += &event_line(record).unwrap();
    }
    (records, text)
}

#[test]
fn an_export_reads_back_byte_for_byte() {
    let (records, text) = export();
    let (lines, head) = read(&text).unwrap();
    assert_eq!(head, head_of(&records));
    let expected: Vec<Line> = std::iter::once(Line::Header)
        .chain(records.into_iter().map(Line::Record))
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_header_is_recomputed() {
    let (records, text) = export();
    let (_, events) = text.split_once('\n').unwrap();
    let good = head_of(&records);
    let with = |head: &Head| read(&(header(head) + events)).unwrap_err();
    let other = Head {
        leaf: Leaf([1; 32]),
        ..good
    };
    assert!(matches!(with(&other), ExportError::Head { .. }));
    let other = Head {
        ledger: LedgerId([1; 32]),
        ..good
    };
    assert!(matches!(with(&other), ExportError::Ledger { .. }));
    let more = Head {
        seq: Seq(2),
        ..good
    };
    let expected = ExportError::Count {
        expected: 3,
        found: 2,
    };
    assert_eq!(with(&more), expected);
    let fewer = Head {
        seq: Seq(0),
        ..good
    };
    assert!(matches!(
        with(&fewer),
        ExportError::Unexpected { line: 3, .. }
    ));
}

#[test]
fn a_header_has_one_spelling() {
    let (_, text) = export();
    for (from, to) in [
        ("\"count\":2", "\"count\":3"),
        ("\"count\":2", "\"count\": 2"),
        ("\"count\":2", "\"count\":2,\"more\":1"),
        ("export/v1", "export/v2"),
        ("handoff1:", "handoff2:"),
        ("\"ledger\"", "\"LEDGER\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(
            matches!(read(&changed), Err(ExportError::Header { .. })),
            "{to}"
        );
    }
    assert!(matches!(read(""), Err(ExportError::Header { .. })));
}

#[test]
fn nothing_else_stands_in_an_export() {
    let (_, text) = export();
    let captured = capture_line(&capture(1, b"out"));
    let salt_only = capture_line(&ExportedCapture {
        bytes: None,
        ..capture(2, b"secret")
    });
    for bad in [
        text.trim_end().to_owned(),
        text.replace('\n', "\r\n"),
        text.clone() + "\n",
        text.clone() + "{}\n",
        text.clone() + "x",
        text.clone() + &captured + &captured,
        text.clone() + &captured.replace("\"salt\"", "\"SALT\""),
        text.clone() + &salt_only.replace(",\"salt\"", ", \"salt\""),
        text.replacen("{\"event\":", "{ \"event\":", 1),
        text.replacen("==\"}", "=\"}", 1),
        text.replacen("==\"}", "\"}", 1),
    ] {
        assert!(read(&bad).is_err(), "{bad}");
    }
    assert!(matches!(
        read(&(text + &captured.replace("b3V0", "b3V1"))),
        Err(ExportError::Commitment { line: 4, .. })
    ));
}

#[test]
fn captures_follow_in_ascending_order() {
    let (_, text) = export();
    let mut captures: Vec<ExportedCapture> = (0..5).map(|n| capture(n, &[n; 5])).collect();
    captures.sort_by_key(|capture| capture.commitment);
    captures[2].bytes = None;
    let lines: Vec<String> = captures.iter().map(capture_line).collect();
    let (read_back, _) = read(&(text.clone() + &lines.concat())).unwrap();
    let expected: Vec<Line> = captures.into_iter().map(Line::Capture).collect();
    assert_eq!(read_back[3..], expected);
    let reversed: String = lines.into_iter().rev().collect();
    assert!(read(&(text + &reversed)).is_err());
}

#[test]
fn the_largest_lines_fit() {
    let largest = record(&"x".repeat(RECORD_BYTES_MAX - SIGNATURE_BYTES));
    assert!(event_line(&largest).unwrap().len() <= LINE_BYTES_MAX);
    let kept = capture_line(&capture(0, &vec![0; CAPTURE_BYTES_MAX]));
    assert!(kept.len() <= LINE_BYTES_MAX);
    let (_, text) = export();
    assert!(read(&(text.clone() + &kept)).is_ok());
    let over = capture_line(&capture(0, &vec![0; CAPTURE_BYTES_MAX + 1]));
    let refused = read(&(text + &over));
    assert!(matches!(
        refused,
        Err(ExportError::Unexpected { line: 4, .. })
    ));
}

#[test]
fn a_record_that_no_chain_could_hold_is_refused() {
    for bad in [
        vec![0; SIGNATURE_BYTES - 1],
        record(&"x".repeat(LINE_BYTES_MAX)),
        record("a\nb"),
        [record("a"), vec![0xff]].concat(),
    ] {
        assert!(matches!(event_line(&bad), Err(ExportError::Record { .. })));
    }
}

proptest::proptest! {
    #[test]
    fn any_text_comes_back(
        events in proptest::collection::vec("[^\n]{0,200}", 1..6),
        signature in proptest::array::uniform32(0u8..),
        outputs in proptest::collection::vec(
            proptest::collection::vec(0u8.., 0..300), 0..4),
    ) {
        let signature = [signature, signature].concat();
        let records: Vec<Vec<u8>> = events
            .iter()
            .map(|event| [&signature, event.as_bytes()].concat())
            .collect();
        let mut captures: Vec<ExportedCapture> = (0u8..)
            .zip(&outputs)
            .map(|(salt, bytes)| capture(salt, bytes))
            .collect();
        captures.sort_by_key(|capture| capture.commitment);
        let mut text = header(&head_of(&records));
        for record in &records {
            text += &event_line(record).unwrap();
        }
        for capture in &captures {
            text += &capture_line(capture);
        }
        let (lines, head) = read(&text).unwrap();
        proptest::prop_assert_eq!(head, head_of(&records));
        let expected: Vec<Line> = std::iter::once(Line::Header)
            .chain(records.into_iter().map(Line::Record))
            .chain(captures.into_iter().map(Line::Capture))
            .collect();
        proptest::prop_assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_read_is_spelt_alike(line in "\\PC{0,120}", at in 0usize..200, with in "\\PC") {
        let (_, text) = export();
        let mut changed = text.clone();
        let end = text.len();
        let at = (at % end..end).find(|at| text.is_char_boundary(*at)).unwrap();
        changed.replace_range(at..at + 1, &with);
        let changed = changed + &line;
        if read(&changed).is_ok() {
            proptest::prop_assert_eq!(changed, text);
        }
    }
}
