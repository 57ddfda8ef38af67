//! What a program prints: kept, taken as a value, and held against the expectations.

use super::*;
use handoff_ledger::hash;
use handoff_ledger::probe::check_expressions;
use handoff_ledger::probe_spec::{Outcome, Strength, is_successful, strength};
use handoff_ledger::types::CAPTURE_BYTES_MAX;

#[test]
fn a_hundred_megabytes_on_one_line_are_counted_and_hashed() {
    const PIECE: usize = 1_000_000;
    let text = format!("head -c {} /dev/zero", 100 * PIECE);
    let seen = observe(
        here(),
        extracting(timeout(Definition::script(text), 60_000), "sha256"),
    );
    assert_eq!(seen.outcome, Outcome::Exited(0));
    let mut running = hash::Running::new();
    let piece = vec![0; PIECE];
    (0..100).for_each(|_| running.add(&piece));
    assert_eq!(seen.value, Some(running.finish().to_string()));
    assert_eq!(
        seen.outputs.unwrap().stdout.commitment.whole.length,
        100_000_000
    );
}

#[test]
fn bytes_that_are_not_text_are_kept_exactly() {
    let seen = script(r"printf '\377\000a'");
    assert_eq!(stdout(&seen), b"\xff\0a");
    assert_eq!((seen.extracted, seen.value.as_deref()), (false, None));
    let outputs = seen.outputs.unwrap();
    let commitment = hash::commitment(&outputs.stdout.salt, b"\xff\0a");
    assert_eq!(outputs.commitments().stdout.kept.commitment, commitment);
    assert_eq!(outputs.commitments().stdout.whole.commitment, commitment);
    assert_eq!(outputs.commitments().stdout.whole.length, 3);
    assert_eq!(outputs.commitments().stderr.whole.length, 0);
    assert_ne!(outputs.stdout.salt, outputs.stderr.salt);
}

#[test]
fn what_looks_like_our_own_output_is_only_output() {
    let text = r#"{"schema":"handoff.verify.v1","result":"verified","exit":0}"#;
    let seen = observe(here(), argv(&["printf", "%s\nVERIFY OK\n", text]));
    assert_eq!(stdout(&seen), format!("{text}\nVERIFY OK\n").as_bytes());
}

#[test]
fn each_extraction_takes_its_part() {
    let printed = r"  first \n second\t\nv1.2-x\n";
    let value =
        |extract: &str| observe(here(), extracting(argv(&["printf", printed]), extract)).value;
    assert_eq!(value("trim").unwrap(), "first \n second\t\nv1.2-x");
    assert_eq!(value("line:1").unwrap(), "first");
    assert_eq!(value("line:2").unwrap(), "second");
    assert_eq!(value("line:3").unwrap(), "v1.2-x");
    assert_eq!(value("line:4"), None);
    assert_eq!(value("regex:v([0-9.]+)").unwrap(), "1.2");
    assert_eq!(value("regex:s[a-z]+").unwrap(), "st");
    assert_eq!(value("regex:absent"), None);
    assert_eq!(value("regex:(absent)?v1"), None);
    assert_eq!(value("none"), None);
    let bytes = b"  first \n second\t\nv1.2-x\n";
    assert_eq!(value("sha256").unwrap(), hash::bytes(bytes).to_string());
}

#[test]
fn json_is_taken_by_pointer() {
    let document = r#"{"a":{"b/c":["x",7,true,null,1.5]},"":"empty"}"#;
    let value = |extract: &str| {
        let seen = observe(
            here(),
            extracting(argv(&["printf", "%s", document]), extract),
        );
        assert_eq!(seen.extracted, seen.value.is_some());
        seen.value
    };
    for (pointer, expected) in [
        ("/a/b~1c/0", "x"),
        ("/a/b~1c/1", "7"),
        ("/a/b~1c/2", "true"),
        ("/a/b~1c/3", "null"),
        ("/a/b~1c/4", "1.5"),
        ("/", "empty"),
    ] {
        assert_eq!(
            value(&format!("json:{pointer}")).as_deref(),
            Some(expected),
            "{pointer}"
        );
    }
    for absent in ["json:/a", "json:", "json:/x", "json:/a/b~1c/9"] {
        assert_eq!(value(absent), None, "{absent}");
    }
    assert_eq!(
        observe(here(), extracting(argv(&["echo", "{"]), "json:")).value,
        None
    );
}

#[test]
fn no_value_is_taken_where_the_extraction_is_none_and_that_is_success() {
    let seen = observe(here(), extracting(argv(&["ls", "/"]), "none"));
    assert_eq!((seen.extracted, seen.value), (true, None));
}

#[test]
fn a_value_that_is_too_long_or_was_not_kept_whole_is_none() {
    let of = |length: usize, extract: &str| {
        let text = format!("head -c {length} /dev/zero | tr '\\0' x");
        observe(here(), extracting(Definition::script(text), extract))
    };
    assert_eq!(of(4096, "trim").value.unwrap().len(), 4096);
    assert!(!of(4097, "trim").extracted);
    assert_eq!(
        of(CAPTURE_BYTES_MAX, "regex:^x").value.as_deref(),
        Some("x")
    );
    assert!(!of(CAPTURE_BYTES_MAX + 1, "regex:^x").extracted);
    assert!(of(CAPTURE_BYTES_MAX + 1, "sha256").extracted);
    assert!(of(CAPTURE_BYTES_MAX + 1, "none").extracted);
}

#[test]
fn each_expectation_is_judged_and_tried_on_empty_output() {
    let text = r#"echo '{"version":"v2.1"}'; echo warned >&2; exit 3"#;
    let definition = extracting(Definition::script(text), "json:/version");
    for (expectation, met, met_by_empty) in [
        ("exit=3", true, true),
        ("exit=0", false, true),
        ("value=v2.1", true, false),
        ("value=", false, true),
        ("value~^v2", true, false),
        ("value~^$|2", true, true),
        ("semver=^2", true, false),
        ("semver=^3", false, false),
        ("stdout~version", true, false),
        ("stdout~.*", true, true),
        ("stderr~warned", true, false),
        ("stderr~version", false, false),
        ("json:/version=v2.1", true, false),
        ("json:/version=v2", false, false),
        ("json:/absent=", false, false),
    ] {
        let seen = observe(here(), expecting(definition.clone(), &[expectation]));
        let judgement = seen.expectations[0];
        assert_eq!(
            (judgement.met, judgement.met_by_empty),
            (met, met_by_empty),
            "{expectation}"
        );
    }
}

#[test]
fn expectations_on_output_that_was_cut_are_not_met() {
    let text = "head -c 70000 /dev/zero | tr '\\0' x; echo warned >&2";
    let expect = ["stdout~x", "stderr~warned"];
    let seen = observe(here(), expecting(Definition::script(text), &expect));
    assert!(!seen.expectations[0].met);
    assert!(seen.expectations[1].met);
}

#[test]
fn an_expression_that_does_not_compile_is_told_before_and_meets_nothing() {
    let probe = |expect: &str, extract: &str| {
        Probe::new(extracting(
            expecting(argv(&["echo", "a"]), &[expect]),
            extract,
        ))
        .unwrap()
    };
    assert!(check_expressions(&probe("stdout~^a$", "regex:(a)")).is_ok());
    assert_eq!(
        check_expressions(&probe("stdout~(", "trim"))
            .unwrap_err()
            .pattern,
        "("
    );
    assert_eq!(
        check_expressions(&probe("stdout~a", "regex:["))
            .unwrap_err()
            .pattern,
        "["
    );
    let seen = observe(here(), expecting(argv(&["echo", "("]), &["stdout~("]));
    assert!(!seen.expectations[0].met && !seen.expectations[0].met_by_empty);
}

#[test]
fn what_is_seen_decides_success_and_strength() {
    let probe = Probe::new(expecting(argv(&["uname"]), &["value~[A-Z]"])).unwrap();
    let seen = run(&probe, &surroundings(here(), &NOT_INTERRUPTED));
    let value = seen.value.as_deref();
    assert!(is_successful(
        &probe,
        &seen.outcome,
        seen.extracted,
        value,
        &seen.expectations
    ));
    assert_eq!(strength(&probe, &seen.expectations), Strength::Value);
}
