//! A key's life on the command line: made, authorised, rotated, revoked; and never shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod cli_support;

use cli_support::{Agent, Machine, code};
use handoff_ledger::types::hex;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const V1: &str = include_str!("keys/ed25519-pkcs8-v1.pem");
const OPENSSH: &str = include_str!("keys/ed25519-openssh.pem");
const PUBLIC_PEM: &str = include_str!("keys/ed25519-public.pem");

fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Files in the key's place that are no whole secret Ed25519 key: refused by every command that
/// would sign, and nothing is written.
#[test]
fn a_file_that_is_no_key_never_signs() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    let path = machine.path("k");
    let seed = "930120bf356f8ceed054681338200b80f2eb7e65d09f7dea5a36bd4bde1f63e4";
    let texts: Vec<Vec<u8>> = vec![
        Vec::new(),
        vec![7; 31],
        vec![7; 32],
        vec![7; 33],
        V1.replace('\n', "\r\n").into_bytes(),
        format!("\u{feff}{V1}").into_bytes(),
        V1.replacen('\n', " \n", 1).into_bytes(),
        format!("{V1}{V1}").into_bytes(),
        format!("{V1}{OPENSSH}").into_bytes(),
        include_bytes!("keys/rsa-pkcs1.pem").to_vec(),
        include_bytes!("keys/rsa-pkcs8.pem").to_vec(),
        include_bytes!("keys/encrypted-openssh.pem").to_vec(),
        PUBLIC_PEM.as_bytes().to_vec(),
        seed.as_bytes().to_vec(),
        seed.to_uppercase().into_bytes(),
        V1.as_bytes()[..V1.len() / 2].to_vec(),
        include_str!("keys/ed25519-pkcs8-v2.pem")
            .replace("gSEAWn8X", "gSEAWn8Y")
            .into_bytes(),
    ];
    let before = machine.bytes();
    let refused = |what: &str| {
        for line in [
            "ambient --none",
            "key show",
            "session open --agent a",
            "seal",
        ] {
            let told = root.ends(5, &format!("--session 1 --key {} {line}", path.display()));
            assert_eq!(code(&told), "key_file", "{what}: {line}: {told}");
            assert!(told["error"]["next"].is_string(), "{what}: {told}");
        }
        assert_eq!(machine.bytes(), before, "{what}");
    };
    for text in &texts {
        put(&path, text);
        refused(&String::from_utf8_lossy(text));
    }
    let huge = std::fs::File::create(&path).unwrap();
    huge.set_len(1 << 30).unwrap();
    refused("1 GB without content");
    std::fs::remove_file(&path).unwrap();
    put(&machine.path("real"), V1.as_bytes());
    symlink(machine.path("real"), &path).unwrap();
    refused("a link");
    std::fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    refused("a named pipe");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused("a folder");
}

#[test]
fn a_key_is_made_under_a_label_and_used_by_it() {
    let machine = Machine::new();
    let root = machine.root("");
    let made = root.ok("key new --label ci");
    let path = root.home.join(".local/share/handoff/keys/ci.pem");
    assert_eq!(made["path"], path.to_str().unwrap());
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(root.ok("--key ci key show")["key"], made["key"]);
    assert_eq!(code(&root.ends(5, "key new --label ci")), "key_file");
    assert_eq!(code(&root.ends(2, "key new --label a/b")), "usage");
    assert_eq!(code(&root.ends(2, "key new --label a --out b")), "usage");
    let listed = root.ok("key list");
    let own: Vec<&str> = listed["own"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["label"].as_str().unwrap())
        .collect();
    assert_eq!(own, ["ci", "default"]);
}

#[test]
fn a_rotation_lets_the_new_key_write_and_not_the_old_both_or_neither() {
    let machine = Machine::new();
    let root = machine.root("");
    let old = machine.recorder(&root, "ci");
    let mut new = machine.agent("ci-2");
    new.set("HANDOFF_TRUST", root.public().to_string());
    let sealed = old.open("builder");
    old.ok("axis four --class execution_topology -- cat four.txt");
    old.ok("claim c s --needs four --expect value=4 -- cat four.txt");
    old.of(sealed).seal();
    let open = old.open("builder");
    let rotate = format!("key rotate {} {} --label ci-2", old.public(), new.public());
    let before = root.ok("head")["head"]["seq"].as_u64().unwrap();
    assert_eq!(old.refused(&rotate), "role");
    assert_eq!(root.ok("head")["head"]["seq"], before);
    let told = root.ok(&rotate);
    assert_eq!(told["seq"], before + 2);
    assert_eq!(told["open_sessions"], serde_json::json!([open]));
    assert_eq!(told["roles"], serde_json::json!(["recorder"]));
    assert_eq!(old.refused("session open --agent a"), "key_revoked");
    assert_eq!(old.of(open).refused("ambient --none"), "key_revoked");
    root.ok(&format!(
        "session abandon {open} --reason 'its key is gone'"
    ));
    // What the old key wrote stands.
    let resumed = new.ok("resume --agent successor");
    assert_eq!(cli_support::admissible(&resumed), ["c"]);
    // Neither comes back, and neither half happens without the other.
    let seq = root.ok("head")["head"]["seq"].clone();
    let again = format!("key rotate {} {} --label ci-3", new.public(), old.public());
    assert_eq!(root.refused(&again), "key_already_authorized");
    let third = machine.agent("third").public();
    let taken = format!("key rotate {} {third} --label ci-2", new.public());
    assert_eq!(root.refused(&taken), "label_in_use");
    let gone = format!("key rotate {} {third} --label third", old.public());
    root.run(&gone);
    let unknown = format!("key rotate {third} {third} --label third");
    assert_ne!(root.run(&unknown).code, 0);
    let of_root = format!("key rotate {} {third} --label third", root.public());
    assert_eq!(root.refused(&of_root), "root_irrevocable");
    let _ = seq;
    root.ok("verify");
}

/// Who may enrol and revoke whom, through the real program.
#[test]
fn keys_are_enrolled_once_by_who_may_and_the_root_stays() {
    let machine = Machine::new();
    let root = machine.root("");
    let ci = machine.recorder(&root, "ci");
    let other = machine.agent("other");
    let weak = "0100000000000000000000000000000000000000000000000000000000000000";
    let torsioned = "015ff595e4e0add00dde896efa66ea4f6848c4396410c693c92232aa64861d4f";
    let not_canonical = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
    for (key, fault) in [
        (weak, "key_small_order"),
        (torsioned, "key_torsion"),
        (not_canonical, "key_not_canonical"),
    ] {
        assert_eq!(
            root.refused(&format!("key authorize {key} --label weak")),
            fault
        );
        assert_eq!(root.refused(&format!("trust add {key}")), fault);
    }
    let authorise = |key, label: &str| format!("key authorize {key} --label {label}");
    assert_eq!(ci.refused(&authorise(other.public(), "other")), "role");
    assert_eq!(ci.refused(&authorise(ci.public(), "again")), "role");
    assert_eq!(
        root.refused(&authorise(ci.public(), "again")),
        "key_already_authorized"
    );
    assert_eq!(
        root.refused(&authorise(other.public(), "ci")),
        "label_in_use"
    );
    for label in ["CI", "c\u{0456}", "ci "] {
        let told = root.ends(
            2,
            &format!("key authorize {} --label '{label}'", other.public()),
        );
        assert_eq!(code(&told), "usage", "{label}");
    }
    let revoke = |key| format!("key revoke {key} --reason R");
    assert_eq!(root.refused(&revoke(root.public())), "root_irrevocable");
    assert_eq!(ci.refused(&revoke(root.public())), "role");
    assert_eq!(ci.refused(&revoke(other.public())), "role");
    root.ok(&revoke(ci.public()));
    assert_eq!(
        root.refused(&authorise(ci.public(), "ci-again")),
        "key_already_authorized"
    );
    assert_eq!(ci.refused("session open --agent a"), "key_revoked");
    root.ok("verify");
}

/// The secret key's seed stands in no output of any command, in no file but its own.
#[test]
fn a_secret_key_is_never_shown() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    root.ok("axis four --class execution_topology -- cat four.txt");
    let path = root.home.join(".local/share/handoff/keys/default.pem");
    let pem = std::fs::read_to_string(&path).unwrap();
    let base64 = pem.lines().nth(1).unwrap();
    let secrets = [
        hex(&root.seed),
        hex(&root.seed).to_uppercase(),
        base64[22..60].to_owned(),
    ];
    let shown = |ran: &cli_support::Ran, line: &str| {
        for secret in &secrets {
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!told.contains(secret.as_str()), "{line}: {told}");
        }
    };
    let broken = machine.path("broken.pem");
    put(&broken, pem.replace("MC4C", "MC5C").as_bytes());
    let twice = machine.path("twice.pem");
    put(&twice, format!("{pem}{pem}").as_bytes());
    let commands = [
        "key new --out new.pem",
        "key show",
        "key list",
        "doctor",
        "init",
        "head",
        "log",
        "show 0",
        "show 0 --raw",
        "state",
        "brief",
        "verify",
        "export",
        "session list",
        "ambient --none",
        "seal",
        "help all",
        "nonsense",
        "completions bash",
        "probe -- env",
        "probe --shell -- 'tr \\0 \\n < /proc/$PPID/environ; tr \\0 \\n < /proc/$PPID/cmdline'",
        "ps",
    ];
    for line in commands {
        for line in [line.to_owned(), format!("--json {line}")] {
            shown(&root.run(&line), &line);
        }
    }
    for key in [&broken, &twice] {
        for command in ["key show", "seal", "key authorize"] {
            let line = match command {
                "key authorize" => format!("key authorize {} --label x", key.display()),
                other => format!("--key {} {other}", key.display()),
            };
            let ran = root.run(&line);
            assert_ne!(ran.code, 0, "{line}");
            shown(&ran, &line);
        }
    }
    let public = root.run(&format!("key authorize {} --label x", path.display()));
    assert_ne!(public.code, 0);
    shown(&public, "a secret key given as a public one");
    for secret in &secrets {
        assert!(!machine.holds(secret));
    }
    // The search finds it where it is.
    assert!(pem.contains(&secrets[2]));
    let agent: &Agent = &root;
    assert_eq!(agent.key().public(), root.public());
}
