//! Credentials: none is signed into the chain, wherever it is typed or printed, and none is shown.
//!
//! Examples are put together while the tests run, so that nothing that scans these files takes one
//! for a leak.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod cli_support;

use cli_support::Machine;
use handoff_ledger::credential::find;
use handoff_ledger::event::Body;
use handoff_ledger::probe_spec::{Definition, Probe};
use handoff_ledger::types::Seq;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

const RULES: &str = include_str!("../src/credential/rules.json");
/// How many texts of a rule are tried before it counts as one that finds nothing.
const TRIES: usize = 300;

/// The rule's expression as one that texts can be made of: without anchors and boundaries.
fn generating(expression: &str) -> String {
    let mut plain = expression.to_owned();
    for (look, nothing) in [
        ("|$|\\b)", ")"),
        ("|$)", ")"),
        ("(?:$|", "(?:"),
        ("|\\z)", ")"),
        ("|^)", ")"),
        ("(?:^|", "(?:"),
        ("\\b", ""),
        ("\\B", ""),
        ("\\z", ""),
        ("\\A", ""),
    ] {
        plain = plain.replace(look, nothing);
    }
    // Only ASCII, as the expressions mean it.
    format!("(?-u:{plain})")
}

/// Texts made from each rule's own expression are found: no keyword, entropy or exception of the
/// conversion keeps a rule from ever speaking.
#[test]
fn every_rule_finds_texts_made_of_its_own_expression() {
    let set: Value = serde_json::from_str(RULES).unwrap();
    let mut runner = TestRunner::deterministic();
    let (mut silent, mut seen) = (Vec::new(), 0);
    for rule in set["rules"].as_array().unwrap() {
        let id = rule["id"].as_str().unwrap();
        let expression = generating(rule["regex"].as_str().unwrap());
        let texts = proptest::string::bytes_regex(&expression)
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        let keyword = rule["keywords"][0].as_str().unwrap();
        let found = (0..TRIES).any(|_| {
            let text = texts.new_tree(&mut runner).unwrap().current();
            // With a line of its keyword before it, for the rules that look at what is around.
            find(&text).is_some()
                || find(&[keyword.as_bytes(), b"\n", &text, b"\n"].concat()).is_some()
        });
        seen += 1;
        if !found {
            silent.push(id.to_owned());
        }
    }
    assert_eq!((silent, seen), (Vec::<String>::new(), 221));
}

/// One example per family, with the rule that tells it.
fn examples() -> Vec<(String, &'static str)> {
    let of = |parts: &[&str]| parts.concat();
    let mixed = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY".to_owned();
    let hex = "0123456789abcdef0f1e2d3c4b5a6978".to_owned();
    vec![
        (of(&["AK", "IA", "QYLPMN5HFIQR7XYA"]), "aws-access-key-id"),
        (of(&["gh", "p_", &"a1B2".repeat(9)]), "github-token"),
        (
            of(&["github", "_pat_", &"a1_".repeat(10)]),
            "github-fine-grained-token",
        ),
        (of(&["gl", "pat-", &"x".repeat(20)]), "gitlab-token"),
        (of(&["xo", "xb-", "1234567890-abcdef"]), "slack-token"),
        (
            of(&[
                "https://hooks.",
                "slack.com/services/",
                "T00000000/B00000000/XXXXXXXX",
            ]),
            "slack-webhook",
        ),
        (
            of(&["-----BEGIN ", "OPENSSH PRIVATE KEY-----"]),
            "private-key-header",
        ),
        (
            of(&[
                "eyJhbGciOiJIUzI1NiJ9.",
                "eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl",
            ]),
            "json-web-token",
        ),
        (of(&["sk", "_live_", &"4".repeat(24)]), "stripe-key"),
        (of(&["AI", "za", &"S".repeat(35)]), "google-api-key"),
        (of(&["s", "k-", &"a".repeat(40)]), "sk-key"),
        (
            of(&["postgres://app:", "hunter2", "@db.internal/x"]),
            "url-userinfo",
        ),
        (of(&["DB_PASS", "WORD=", "correcthorse"]), "named-secret"),
        (
            of(&[r#"{"api_"#, r#"key": ""#, r#"0123456789"}"#]),
            "named-secret",
        ),
        (
            of(&["psql --pass", "word ", "correcthorse"]),
            "secret-option",
        ),
        (
            of(&["Authori", "zation: Bea", "rer ", &mixed]),
            "authorization-header",
        ),
        (of(&["np", "m_", &mixed, "aB3d"]), "npm-access-token"),
        (of(&["hv", "s.", &mixed.repeat(3)]), "vault-service-token"),
        (
            of(&["py", "pi-AgEIcHlwaS5vcmc", &mixed.repeat(2)]),
            "pypi-upload-token",
        ),
        (of(&["do", "p_v1_", &hex.repeat(2)]), "digitalocean-pat"),
        (of(&["SG", ".", &mixed, &mixed, "aB"]), "sendgrid-api-token"),
        (
            of(&["datadog_token", " = ", &hex, "01234567"]),
            "datadog-access-token",
        ),
        (
            of(&["client_tok", "en: \"", &mixed, "\""]),
            "generic-api-key",
        ),
        (
            of(&["curl -u 'admin:", "Tr0ub4dor&3' ", "https://db.internal"]),
            "curl-auth-user",
        ),
    ]
}

#[test]
fn an_example_of_each_family_is_told_with_its_rule() {
    for (text, rule) in examples() {
        assert_eq!(find(text.as_bytes()), Some(rule), "{text}");
        let within = format!("first line\n  {text} \nlast line\n");
        assert!(find(within.as_bytes()).is_some(), "{text}");
    }
}

#[test]
fn ordinary_texts_are_no_credentials() {
    for text in [
        "",
        "Python 3.12.1",
        "v22.11.0-rc.1+build.5",
        "prod-1.db.internal:5432",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  Cargo.lock",
        "21d61c7f9370dd5afddb2f845b90b88a85f4cceff",
        "commit 21d61c7f9370dd5afddb2f845b90b88a85f4ccef (HEAD -> main, origin/main)",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "sha512-9NET910DNaIPngYnLLPeg+Ogzqsi9uM4mSboU5y6p8S5DzMTVEsJZrawi+BoDNUVBa2DhJqQYUFvMDfgU062LQ==",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "checksum = \"cb89e4a1d1d8c0d4e3b4b4bb8a1d4f5e6f4d2b8b7b8a7a6b5c4d3e2f1a0b9c8d\"",
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "/usr/lib/x86_64-linux-gnu/libssl.so.3",
        "/home/agent/project/target/debug/deps/handoff_ledger-0123456789abcdef",
        "postgres://db.internal/x",
        "postgres://app:$PGPASSWORD@db.internal/x",
        "https://example.org:8443/path@2",
        "git@github.com:acme/widgets.git",
        "net:[4026531840]",
        "uid=0(root) gid=0(root) groups=0(root)",
        "the password is set",
        "secret: no",
        "PGPASSWORD=\"$PGPASSWORD\" psql -c 'select 1'",
        "curl -fsS -H \"Authorization: Bearer $TOKEN\" https://db.internal/health",
        "curl -u \"$USER:$PASS\" https://db.internal/health",
        "kubectl create token builder",
        "docker build --secret id=npmrc,src=/root/.npmrc .",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "task-force-of-the-whole-repository",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl agent@host",
        "{\"status\":\"ok\",\"version\":\"1.4.2\",\"uptime\":123456}",
        "1764515073",
        "312 passed, 0 failed in 12.31s",
        "keyboard: us; primary_key=id; token_url=https://auth.internal/token",
        "tokens are rotated every 12 hours by the cron job on host ci-41",
        "the API answers 401 without a token, so the access check is on",
        "test_password_reset passed; test_token_refresh passed",
        "grep -r 'api_key' src --include=*.py",
    ] {
        assert_eq!(find(text.as_bytes()), None, "{text}");
    }
}

/// A credential that no rule could take for something else, and a part of it to look for.
fn token() -> String {
    ["gl", "pat-", "Zx8Qw7Er6Ty5Ui4Op3As"].concat()
}

#[test]
fn whatever_is_signed_is_looked_at_and_the_refusal_names_field_and_rule_only() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    root.ok("axis four --class execution_topology -- cat four.txt");
    let token = token();
    machine.write("token.txt", &token);
    let proof = "--needs four --expect value=4 -- cat four.txt";
    let flag = "--needs four --check tcp=localhost:1";
    for (line, field) in [
        ("probe -- cat token.txt".to_owned(), "value"),
        (format!("probe -- echo {token}"), "probe.argv"),
        (
            format!("probe --shell -- 'psql --password {token}xx'"),
            "probe.argv",
        ),
        (
            format!("probe --expect value={token} -- cat four.txt"),
            "probe.expect",
        ),
        (
            format!("probe --extract regex:{token} -- cat four.txt"),
            "probe.extract",
        ),
        (format!("probe --cwd {token} -- cat four.txt"), "probe.cwd"),
        (
            format!("probe --check http=http://localhost:1/{token}"),
            "probe.check",
        ),
        (
            format!("axis other --class reachability -- echo {token}"),
            "probe.argv",
        ),
        (
            format!("axis other --class reachability --holds-if one-of={token} -- cat four.txt"),
            "comparator",
        ),
        (
            format!("ambient --allow four='because {token}'"),
            "entries.reason",
        ),
        (
            format!("ambient --allow host=r --observed {token}"),
            "entries.observed",
        ),
        (format!("claim c 'it is {token}' {proof}"), "statement"),
        (
            format!("claim c s --environment-independent {token} --expect value=4 -- cat four.txt"),
            "independent",
        ),
        (
            format!("flag c 'it is {token}' --because d {flag}"),
            "statement",
        ),
        (format!("flag c s --because {token} {flag}"), "derivation"),
        (
            format!("session open --agent a --purpose {token}"),
            "purpose",
        ),
        (format!("session abandon 1 --reason {token}"), "reason"),
        (
            format!("key revoke {} --reason {token}", "ab".repeat(32)),
            "reason",
        ),
        (
            format!("erase {} --reason {token}", "ab".repeat(32)),
            "reason",
        ),
        (format!("acknowledge 1 --reason {token}"), "reason"),
    ] {
        let ran = root.run(&format!("--json {line}"));
        if ran.code == 1 && ran.json()["error"]["code"] == "credential" {
            let details = &ran.json()["error"]["details"];
            assert!(
                details["field"].as_str().unwrap().starts_with(field),
                "{line}: {details}"
            );
            assert!(details["rule"].is_string(), "{line}");
        } else {
            // Another refusal came first; then nothing was signed either.
            let first = ["key revoke", "erase", "claim c s --env", "acknowledge"];
            assert!(
                first.iter().any(|it| line.starts_with(it)),
                "{line}: {ran:?}"
            );
        }
        let text = root.run(&line);
        for told in [&ran.stdout, &ran.stderr, &text.stdout, &text.stderr] {
            assert!(!told.contains(&token), "{line}: {told}");
        }
        assert!(!machine.holds(&token), "{line}");
    }
}

#[test]
fn a_usage_error_does_not_show_a_credential_that_was_mistyped() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    let token = token();
    for line in [
        format!("probe --check http=http://app:{token}@localhost:1/"),
        format!("can {token}"),
        token.clone(),
        format!("probe --{token} -- true"),
        format!("probe --env TOKEN={token} -- true"),
        format!("axis a --class {token} -- true"),
    ] {
        for ran in [root.run(&line), root.run(&format!("--json {line}"))] {
            assert_eq!(ran.code, 2, "{line}");
            let told = ran.stdout + &ran.stderr;
            assert!(
                !told.contains(&token) && told.contains("credential"),
                "{line}: {told}"
            );
        }
    }
}

/// What a probe printed is committed to, and kept only where there is no credential in it.
#[test]
fn output_with_a_credential_is_not_kept_and_the_receipt_stands() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    let token = token();
    machine.write(
        "mixed.sh",
        &format!("echo 'token {token}'; echo fine >&2; echo 4\n"),
    );
    let line = "probe --extract line:2 --expect value=4 -- sh mixed.sh";
    let ran = root.ok(line);
    assert_eq!(ran["not_kept"], serde_json::json!(["stdout"]));
    assert!(!machine.holds(&token));
    let shown = root.ok(&format!("show {}", ran["receipt"]));
    assert_eq!(shown["kept"], serde_json::json!({ "stderr": "fine\n" }));
    assert_eq!(shown["body"]["outputs"]["stdout"]["kept"]["length"], 0);
    let text = root.run(line);
    assert!(text.stdout.contains("stdout not kept"), "{text:?}");
    let verified = root.ok("verify");
    assert!(
        !verified["not_proven"]
            .to_string()
            .contains("captured output"),
        "{verified}"
    );
}

/// What stands in the chain already does not keep a successor from probing it again.
#[test]
fn a_probe_that_a_predecessor_signed_runs_again_whatever_it_names() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("first");
    root.ok("axis four --class execution_topology -- cat four.txt");
    // As an older program, with fewer rules, would have signed it.
    let forger = cli_support::forge::Forger::of(&machine.ledger());
    let mut receipt = forger.newest("probe.receipt");
    let Body::ProbeReceipt(body) = &mut receipt.body else {
        panic!("no receipt");
    };
    let argv = ["cat", "four.txt", &token()].map(str::to_owned);
    let mut definition = Definition::command(argv);
    definition.extract = "line:1".parse().unwrap();
    body.probe = Probe::new(definition).unwrap();
    body.probe_digest = body.probe.digest();
    let seq = forger.append(&root.key(), Seq(session), receipt.body);
    root.ok(&format!(
        "axis old --class execution_topology --receipt {seq}"
    ));
    root.ok("claim c s --needs four --expect value=4 -- cat four.txt");
    root.seal();
    let resumed = root.ok("resume --agent second");
    assert_eq!(cli_support::admissible(&resumed), ["c"]);
    let refused = format!("probe --extract line:1 -- cat four.txt {}", token());
    assert_eq!(root.refused(&refused), "credential");
}
