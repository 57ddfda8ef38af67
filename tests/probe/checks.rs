//! Native checks, against this machine and servers of our own.

use super::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::Outcome;
use std::io::{Read, Write};
use std::net::TcpListener;

fn check_in(root: &Path, text: &str) -> Observation {
    observe(
        root,
        timeout(Definition::check(text.parse().unwrap()), 5_000),
    )
}

fn answer(text: &str) -> Option<String> {
    let seen = check_in(here(), text);
    assert_eq!(seen.outcome == Outcome::Checked, seen.value.is_some());
    seen.value
}

#[test]
fn the_machine_is_described() {
    assert_eq!(answer("os").as_deref(), Some(std::env::consts::OS));
    assert_eq!(answer("arch").as_deref(), Some(std::env::consts::ARCH));
    let id = observe(here(), argv(&["id", "-u"])).value;
    assert_eq!(answer("user"), id);
    let privileges = answer("privileges").unwrap();
    assert!(privileges.starts_with(if id.as_deref() == Some("0") {
        "root"
    } else {
        "user"
    }));
    if cfg!(target_os = "linux") {
        let (_, capabilities) = privileges.split_once(' ').unwrap();
        assert!(
            u64::from_str_radix(capabilities, 16).is_ok(),
            "{privileges}"
        );
        assert_eq!(answer("mount-root").unwrap().split(' ').count(), 3);
        assert!(answer("netns").unwrap().starts_with("net:["));
    }
}

#[test]
fn variables_are_looked_up_in_the_tools_own_environment() {
    assert_eq!(
        answer("env=CARGO_PKG_NAME").as_deref(),
        Some("handoff-ledger")
    );
    assert_eq!(
        check_in(here(), "env=NO_SUCH_VARIABLE_HERE").outcome,
        Outcome::Failed
    );
    assert_eq!(answer("env-set=CARGO_PKG_NAME").as_deref(), Some("set"));
    assert_eq!(
        answer("env-set=NO_SUCH_VARIABLE_HERE").as_deref(),
        Some("unset")
    );
}

#[test]
fn a_file_is_digested_under_the_working_directory() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("sub")).unwrap();
    fs::write(root.path().join("sub/a"), "abc").unwrap();
    let check = Definition::check("file-sha256=a".parse().unwrap());
    let seen = observe(
        root.path(),
        Definition {
            cwd: "sub".into(),
            ..check
        },
    );
    assert_eq!(seen.value, Some(hash::bytes(b"abc").to_string()));
    for text in [
        "file-sha256=absent",
        "file-sha256=sub",
        "file-sha256=/dev/zero",
    ] {
        assert_eq!(
            check_in(root.path(), text).outcome,
            Outcome::Failed,
            "{text}"
        );
    }
}

#[test]
fn a_check_is_judged_by_its_value() {
    let definition = expecting(
        Definition::check("arch".parse().unwrap()),
        &["value~.", "value=x"],
    );
    let seen = observe(here(), definition);
    assert!(seen.expectations[0].met && !seen.expectations[0].met_by_empty);
    assert!(!seen.expectations[1].met);
}

/// A port on which nothing listens any more.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[test]
fn tcp_tells_reachable_from_refused_and_unresolved() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(
        answer(&format!("tcp=127.0.0.1:{port}")).as_deref(),
        Some("reachable")
    );
    let closed = format!("tcp=127.0.0.1:{}", closed_port());
    assert_eq!(answer(&closed).as_deref(), Some("refused"));
    let unresolved = answer("tcp=no-such-host.invalid:80").unwrap();
    // A resolver that does not answer at all is a timeout.
    assert!(
        ["unresolved", "timeout"].contains(&unresolved.as_str()),
        "{unresolved}"
    );
}

/// Answers one connection with `response`; gives the check that asks.
fn serve(response: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = connection.read(&mut request);
        let _ = connection.write_all(response);
    });
    format!("http=http://127.0.0.1:{port}/health")
}

#[test]
fn http_is_reachable_by_its_status() {
    for (response, expected) in [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..],
            "reachable",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "reachable"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://no-such-host.invalid/\r\n\r\n",
            "reachable",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nx",
            "reachable",
        ),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "status",
        ),
        (
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            "status",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "status"),
    ] {
        let found = answer(&serve(response));
        assert_eq!(
            found.as_deref(),
            Some(expected),
            "{}",
            String::from_utf8_lossy(response)
        );
    }
    let closed = format!("http=http://127.0.0.1:{}/", closed_port());
    assert_eq!(answer(&closed).as_deref(), Some("refused"));
}

#[test]
fn https_to_what_speaks_no_tls_is_a_tls_failure() {
    let check = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n").replace("http=http:", "http=https:");
    assert_eq!(answer(&check).as_deref(), Some("tls"));
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let check = format!("http=http://127.0.0.1:{port}/");
    let seen = observe(
        here(),
        timeout(Definition::check(check.parse().unwrap()), 300),
    );
    assert_eq!(
        (seen.outcome, seen.value.as_deref()),
        (Outcome::Checked, Some("timeout"))
    );
}

#[test]
fn an_interrupt_ends_a_native_check() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(true);
    let probe = Probe::new(Definition::check("tcp=192.0.2.1:9".parse().unwrap())).unwrap();
    let seen = run(&probe, &surroundings(here(), &INTERRUPTED));
    assert_eq!((seen.outcome, seen.value), (Outcome::Interrupted, None));
}

#[test]
fn a_document_is_judged_by_its_schema() {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "schema",
            r#"{"type":"object","required":["port"],"properties":{"port":{"type":"integer"}}}"#,
        ),
        ("good", r#"{"port":5432}"#),
        ("bad", r#"{"port":"5432"}"#),
        ("broken", "{"),
        ("remote", r#"{"$ref":"http://127.0.0.1:9/schema"}"#),
        ("local", r#"{"$ref":"file:///etc/hostname"}"#),
        ("none", r#"{"type":7}"#),
    ] {
        fs::write(root.path().join(name), text).unwrap();
    }
    let of = |document: &str, schema: &str| {
        check_in(root.path(), &format!("schema={document},{schema}"))
    };
    assert_eq!(of("good", "schema").value.as_deref(), Some("valid"));
    assert_eq!(of("bad", "schema").value.as_deref(), Some("invalid"));
    for (document, schema) in [
        ("broken", "schema"),
        ("absent", "schema"),
        ("good", "absent"),
        ("good", "remote"),
        ("good", "local"),
        ("good", "none"),
        ("good", "broken"),
    ] {
        let seen = of(document, schema);
        assert_eq!(
            (seen.outcome, seen.value),
            (Outcome::Failed, None),
            "{document} {schema}"
        );
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("document"), r#"{"a":{"a":{}}}"#).unwrap();
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"if":{"$ref":"#"},"then":true}"##,
        r##"{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
        r##"{"$dynamicAnchor":"x","oneOf":[{"$dynamicRef":"#x"}]}"##,
        r##"{"properties":{"a":{"$ref":"#"}}}"##,
    ] {
        fs::write(root.path().join("schema"), schema).unwrap();
        let seen = check_in(root.path(), "schema=document,schema");
        assert!(
            seen.outcome == Outcome::Failed || seen.value.is_some(),
            "{schema}"
        );
    }
}

#[test]
fn a_file_that_takes_longer_than_the_timeout_to_digest_timed_out() {
    let root = tempfile::tempdir().unwrap();
    let file = fs::File::create(root.path().join("long")).unwrap();
    file.set_len(1 << 40).unwrap();
    let check = Definition::check("file-sha256=long".parse().unwrap());
    let definition = Definition {
        timeout_ms: 300,
        ..check
    };
    assert_eq!(observe(root.path(), definition).outcome, Outcome::TimedOut);
}
