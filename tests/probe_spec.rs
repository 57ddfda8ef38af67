//! The rules of a definition, and the bytes that every digest of a probe rests on.
// The lint exempts test functions, not what they call.
#![allow(clippy::unwrap_used)]

use handoff_ledger::hash;
use handoff_ledger::probe_spec::{Check, Definition, Expectation, Extraction, Probe, ProbeError};
use handoff_ledger::types::Digest;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn refused(definition: Definition) -> ProbeError {
    Probe::new(definition).unwrap_err()
}

/// Bytes that must never change: every digest of a probe ever signed rests on them.
#[test]
fn the_wire_format_is_pinned() {
    let command = Probe::new(
        Definition {
            cwd: "sub/dir".to_owned(),
            exit_only: true,
            expect: vec!["exit=0".parse().unwrap(), "value~^\"a\"$".parse().unwrap()],
            extract: "line:2".parse().unwrap(),
            redact: true,
            timeout_ms: 5,
            ..Definition::command(words(&["a b", "", "é\n\u{1}"]))
        }
        .passing([
            "Z".parse().unwrap(),
            "CI".parse().unwrap(),
            "Z".parse().unwrap(),
        ]),
    )
    .unwrap();
    let pinned = r#"{"argv":["a b","","é\n\u0001"],"cwd":"sub/dir","env":["CI","Z"],"exit_only":true,"expect":["exit=0","value~^\"a\"$"],"extract":"line:2","redact":true,"shell":false,"timeout_ms":5}"#;
    assert_eq!(serde_json::to_string(&command).unwrap(), pinned);
    assert_eq!(serde_json::from_str::<Probe>(pinned).unwrap(), command);
    assert_eq!(command.digest(), hash::probe(pinned.as_bytes()));

    let check = Probe::new(Definition::check(Check::Os)).unwrap();
    let pinned = r#"{"check":"os","cwd":".","env":[],"exit_only":false,"expect":[],"extract":"trim","redact":false,"shell":false,"timeout_ms":10000}"#;
    assert_eq!(serde_json::to_string(&check).unwrap(), pinned);
    assert_eq!(serde_json::from_str::<Probe>(pinned).unwrap(), check);
}

#[test]
fn the_digest_covers_every_member() {
    let base = Definition::command(words(&["a"]));
    let digest = |definition: Definition| Probe::new(definition).unwrap().digest();
    let digests: std::collections::BTreeSet<Digest> = [
        base.clone(),
        Definition::command(words(&["b"])),
        Definition::command(words(&["a", ""])),
        Definition::script("a"),
        Definition::check(Check::Os),
        Definition {
            cwd: "a".into(),
            ..base.clone()
        },
        base.clone().passing(["CI".parse().unwrap()]),
        Definition {
            exit_only: true,
            ..base.clone()
        },
        Definition {
            expect: vec![Expectation::Exit(0)],
            ..base.clone()
        },
        Definition {
            extract: Extraction::Sha256,
            ..base.clone()
        },
        Definition {
            redact: true,
            ..base.clone()
        },
        Definition {
            timeout_ms: 1,
            ..base
        },
    ]
    .map(digest)
    .into();
    assert_eq!(digests.len(), 12);
}

#[test]
fn json_that_is_not_a_probe_is_refused() {
    let good = r#"{"argv":["a"],"cwd":".","env":[],"exit_only":false,"expect":[],"extract":"trim","redact":false,"shell":false,"timeout_ms":1}"#;
    assert!(serde_json::from_str::<Probe>(good).is_ok());
    for (from, to) in [
        (r#""argv":["a"],"#, ""),
        (r#""argv":["a"],"#, r#""argv":["a"],"check":"os","#),
        (r#""argv":["a"],"#, r#""argv":["a"],"check":null,"#),
        (r#""cwd":".","#, ""),
        (r#""env":[]"#, r#""env":["B","A"]"#),
        (r#""env":[]"#, r#""env":["A","A"]"#),
        (r#""env":[]"#, r#""env":["PATH"]"#),
        (r#""timeout_ms":1"#, r#""timeout_ms":0"#),
        (r#""timeout_ms":1"#, r#""timeout_ms":3600001"#),
        (r#""timeout_ms":1"#, r#""timeout_ms":-1"#),
        (r#""timeout_ms":1"#, r#""timeout_ms":1.5"#),
        (r#""timeout_ms":1"#, r#""timeout_ms":1,"more":1"#),
    ] {
        let text = good.replace(from, to);
        assert_ne!(text, good);
        assert!(serde_json::from_str::<Probe>(&text).is_err(), "{text}");
    }
}

#[test]
fn an_argv_that_cannot_be_run_is_refused() {
    let of = |argv: &[&str]| refused(Definition::command(words(argv)));
    assert_eq!(of(&[]), ProbeError::ArgvItems { found: 0 });
    assert_eq!(of(&["a"; 257]), ProbeError::ArgvItems { found: 257 });
    assert_eq!(of(&[""]), ProbeError::NoProgram);
    assert_eq!(of(&["a", "b\0"]), ProbeError::ArgvItem { item: 1 });
    assert_eq!(
        of(&["a", &"x".repeat(4097)]),
        ProbeError::ArgvItem { item: 1 }
    );
    let two = Definition {
        shell: true,
        ..Definition::command(words(&["a", "b"]))
    };
    assert_eq!(refused(two), ProbeError::ShellScript { found: 2 });
    let both = Definition {
        check: Some(Check::Os),
        ..Definition::command(words(&["a"]))
    };
    assert_eq!(refused(both), ProbeError::CommandOrCheck);
}

#[test]
fn a_working_directory_is_in_normal_form() {
    let with = |cwd: &str| {
        Probe::new(Definition {
            cwd: cwd.into(),
            ..Definition::command(words(&["a"]))
        })
    };
    for good in [".", "/", "a", "a/b", "/a/b", "..a", "a b"] {
        assert!(with(good).is_ok(), "{good}");
    }
    for bad in [
        "", "..", "a/..", "../a", "./a", "a/./b", "a//b", "a/", "/a/", "//", "/..", "a\0",
    ] {
        assert!(with(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_check_takes_only_what_it_can_meet() {
    let check = || Definition::check("tcp=localhost:1".parse().unwrap());
    let with_expectation = |text: &str| {
        Probe::new(Definition {
            expect: vec![text.parse().unwrap()],
            ..check()
        })
    };
    for good in ["value=a", "value~a", "semver=>=1"] {
        assert!(with_expectation(good).is_ok(), "{good}");
    }
    for bad in ["exit=0", "stdout~a", "stderr~a", "json:/a=b"] {
        assert!(with_expectation(bad).is_err(), "{bad}");
    }
    for bad in [
        Definition {
            shell: true,
            ..check()
        },
        Definition {
            exit_only: true,
            ..check()
        },
        Definition {
            extract: Extraction::None,
            ..check()
        },
        Definition {
            redact: true,
            ..check()
        },
        check().passing(["CI".parse().unwrap()]),
    ] {
        assert!(matches!(refused(bad), ProbeError::NotWithCheck { .. }));
    }
    let secret = Definition {
        redact: true,
        ..Definition::check("env=TOKEN".parse().unwrap())
    };
    assert!(Probe::new(secret).is_ok());
}

#[test]
fn expectations_that_cannot_be_met_are_refused() {
    let with = |extract: Extraction, expect: Vec<Expectation>| {
        refused(Definition {
            extract,
            expect,
            ..Definition::command(words(&["a"]))
        })
    };
    let exits = vec![Expectation::Exit(0), Expectation::Exit(1)];
    assert_eq!(with(Extraction::Trim, exits), ProbeError::TwoExits);
    let value = vec!["value=a".parse().unwrap()];
    let found = "value=a".to_owned();
    assert_eq!(with(Extraction::None, value), ProbeError::NoValue { found });
    let many = vec!["value=a".parse().unwrap(); 33];
    assert_eq!(
        with(Extraction::Trim, many),
        ProbeError::Expectations { found: 33 }
    );
}
