//! A witness cosigns only what continues what it saw, and remembers before it answers.

use super::circuit::{into_file, ledger};
use super::cli_support::{Agent, HANG, Machine, code};
use handoff_ledger::checkpoint::SignedCheckpoint;
use handoff_ledger::note::VerifierKey;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A witness that trusts a ledger's root for that ledger.
pub(crate) fn witness_of(machine: &Machine, root: &Agent) -> Agent {
    let witness = machine.agent("witness");
    let id = root.ok("checkpoint")["ledger"].as_str().unwrap().to_owned();
    witness.ok(&format!("trust add {} --id {id}", root.public()));
    witness
}

pub(crate) fn folder(witness: &Agent) -> PathBuf {
    witness.home.join(".local/share/handoff/witness/seen")
}

/// A ledger of five events, and its first request to a witness that trusts its root.
pub(crate) struct Offered {
    pub(crate) root: Agent,
    pub(crate) witness: Agent,
    /// The request.
    pub(crate) path: PathBuf,
    /// The command that asks the witness for it.
    pub(crate) add: String,
}

impl Offered {
    /// The machine must be kept for as long as they are.
    pub(crate) fn new() -> (Machine, Offered) {
        let machine = Machine::new();
        let root = ledger(&machine);
        let witness = witness_of(&machine, &root);
        let path = request(&root, 0);
        let add = format!("witness add {}", path.display());
        let offered = Offered {
            root,
            witness,
            path,
            add,
        };
        (machine, offered)
    }
}

/// Takes all from a witness, its key included: the next one has seen nothing.
fn begin_anew(witness: &Agent) {
    fs::remove_dir_all(folder(witness).parent().unwrap()).unwrap();
}

/// The files that a witness keeps, with their bytes, but for locks and what a killed one began.
pub(crate) fn kept(witness: &Agent) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder(witness)) else {
        return Vec::new();
    };
    let mut all: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none_or(|ending| ending != "lock"))
        .filter(|path| {
            !path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(".new-")
        })
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// The same keeper with the ledger as it is now, in another place and with another memory: one who
/// tells two people different things.
fn twin(machine: &Machine, root: &Agent, name: &str) -> Agent {
    let (home, project) = (machine.path(&format!("home-{name}")), machine.path(name));
    copy(&root.home, &home);
    copy(&root.cwd, &project);
    Agent {
        home,
        cwd: project,
        ..root.clone()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => _ = fs::copy(from, to).unwrap(),
        }
    }
}

pub(crate) fn request(root: &Agent, from: u64) -> PathBuf {
    let name = format!("request-{from}");
    into_file(root, &format!("prove --from {from}"), &name);
    root.cwd.join(name)
}

#[test]
fn a_ledger_that_grew_is_cosigned_and_one_that_was_cut_back_is_not() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let witness = witness_of(&machine, &root);
    let before = twin(&machine, &root, "before");
    let first = request(&root, 0);
    let add = |path: &Path| format!("witness add {}", path.display());
    assert_eq!(witness.ok(&add(&first))["size"], 5);
    root.ok("probe -- cat five.txt");
    let grown = request(&root, 5);
    let answered = witness.ok(&add(&grown));
    assert_eq!(answered["size"], 6);
    let after = kept(&witness);
    assert_eq!(after.len(), 1);

    // The older one, be it with the old request or with a new one, is not cosigned again.
    for refused in [&first, &request(&before, 0), &request(&before, 5)] {
        let document = witness.no(&add(refused));
        assert_eq!(code(&document), "conflict");
        assert_eq!(document["error"]["details"]["size"], 6);
        assert_eq!(document["error"]["details"]["status"], 409);
    }
    assert_eq!(before.refused("prove --from 6"), "shorter");
    assert_eq!(kept(&witness), after);
    // The very checkpoint that is kept is answered again, by the same request.
    let again = witness.ok(&add(&grown));
    assert_eq!(
        (&again["size"], &again["root"]),
        (&answered["size"], &answered["root"])
    );
    // By standard input as well.
    let mut child = witness
        .command("witness add -")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&fs::read(&grown).unwrap())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with("\u{2014} handoff-witness/") && line.lines().count() == 1);
}

#[test]
fn a_forked_ledger_is_refused_and_the_evidence_is_kept() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let witness = witness_of(&machine, &root);
    let add = |path: &Path| format!("witness add {}", path.display());
    witness.ok(&add(&request(&root, 0)));
    let other = twin(&machine, &root, "other");
    root.ok("probe -- cat five.txt");
    other.open("twin");
    witness.ok(&add(&request(&root, 5)));
    let before = kept(&witness);

    // As many events, but others.
    let forked = request(&other, 5);
    let document = witness.ends(4, &add(&forked));
    assert_eq!(code(&document), "fork");
    let evidence = document["error"]["details"]["evidence"].as_str().unwrap();
    // What was cosigned, and what was asked for: each is a note that the ledger's key signed.
    let both = fs::read_to_string(evidence).unwrap();
    let (ours, theirs) = both.split_once("\n\nold 5\n").unwrap();
    let (_, theirs) = theirs.split_once("\n\n").unwrap();
    let trees = [format!("{ours}\n").as_str(), theirs].map(|note| {
        let signed = SignedCheckpoint::parse(note.as_bytes()).unwrap();
        let vouched = signed.vouched([root.public()], &[]).unwrap();
        assert_eq!(vouched.keys, [root.public()]);
        signed.checkpoint().tree
    });
    assert_eq!(trees[0].size, trees[1].size);
    assert_ne!(trees[0].root, trees[1].root);
    witness.ends(4, &add(&forked));
    // More events, and a proof from what is no beginning of them: that shows nothing of anyone.
    other.ok("probe -- cat four.txt");
    let longer = request(&other, 6);
    let document = witness.no(&add(&longer));
    assert_eq!(code(&document), "bad_proof");
    assert!(document["error"]["details"]["evidence"].is_null());
    assert_eq!(document["error"]["details"]["status"], 422);
    // What was cosigned is what it was, with the evidence beside it, once.
    let after = kept(&witness);
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(before.iter().all(|file| after.contains(file)));
    assert_eq!(
        witness.ok("witness list")["ledgers"][0]["evidence"][0],
        evidence
    );
}

#[test]
fn who_is_not_trusted_is_not_remembered() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let witness = machine.agent("witness");
    let path = request(&root, 0);
    let add = format!("witness add {}", path.display());
    let document = witness.ends(3, &add);
    assert_eq!(code(&document), "unknown_origin");
    assert_eq!(document["error"]["details"]["status"], 404);
    let id = root.ok("checkpoint")["ledger"].as_str().unwrap().to_owned();
    witness.ok(&format!("trust add {} --id {id}", witness.public()));
    assert_eq!(code(&witness.ends(3, &add)), "untrusted_signature");
    let text = fs::read_to_string(&path).unwrap();
    let trusting = format!("{add} --trust {}", root.public());
    let broken = text.replacen("old 0\n", "old 99\n", 1);
    fs::write(&path, broken).unwrap();
    assert_eq!(code(&witness.no(&trusting)), "old_size");
    // One bit of the signature; the rest of what is no request.
    let at = text.rfind("= \n").unwrap_or(text.len() - 12);
    let mut flipped = text.clone().into_bytes();
    flipped[at] = if flipped[at] == b'A' { b'B' } else { b'A' };
    fs::write(&path, flipped).unwrap();
    assert_eq!(code(&witness.ends(3, &trusting)), "untrusted_signature");
    for bad in ["", "old 0\n", "old 00\n\nx", "c2sp.org/tlog-proof@v1\n"] {
        fs::write(&path, bad).unwrap();
        assert_eq!(code(&witness.no(&trusting)), "bad_request", "{bad:?}");
    }
    into_file(&root, "prove 1", "proof");
    assert_eq!(code(&witness.no("witness add proof")), "bad_request");
    assert_eq!(kept(&witness), Vec::new());
    assert!(
        witness.ok("witness list")["ledgers"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_is_damaged_is_never_taken_for_nothing_seen() {
    let (_machine, Offered { witness, add, .. }) = Offered::new();
    witness.ok(&add);
    let [(name, bytes)] = kept(&witness).try_into().unwrap();
    let file = folder(&witness).join(name);
    for damaged in [&b""[..], &bytes[..bytes.len() / 2], b"handoff-ledger/x\n"] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(code(&witness.ends(5, &add)), "witness");
        assert_eq!(code(&witness.ends(5, "witness list")), "witness");
        assert_eq!(fs::read(&file).unwrap(), damaged);
    }
    fs::write(&file, &bytes).unwrap();
    witness.ok(&add);
}

/// All files of a witness but its key and its locks, and the folder that they lie in: whichever
/// goes, alone or with others, it cosigns no fork.
#[test]
fn whatever_a_witness_loses_but_its_key_it_cosigns_no_second_history() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let other = twin(&machine, &root, "other");
    root.ok("probe -- cat five.txt");
    other.open("twin");
    let witness = witness_of(&machine, &root);
    let [add, fork] =
        [&root, &other].map(|agent| format!("witness add {}", request(agent, 0).display()));
    witness.ok(&add);
    let seen = folder(&witness);
    let list = seen.with_file_name("cosigned");
    let (name, _) = kept(&witness).remove(0);
    let checkpoint = seen.join(name);
    let lock = checkpoint.with_extension("checkpoint.lock");
    let whole = machine.path("whole");
    copy(seen.parent().unwrap(), &whole);

    let lost: [&[&Path]; 6] = [
        &[&checkpoint],
        &[&checkpoint, &lock],
        &[&list],
        &[&list, &checkpoint, &lock],
        &[&seen],
        &[&seen, &list],
    ];
    for gone in lost {
        for path in gone {
            match path.is_dir() {
                true => fs::remove_dir_all(path).unwrap(),
                false => fs::remove_file(path).unwrap(),
            }
        }
        for asked in [fork.as_str(), &add, "witness list"] {
            let document = witness.ends(5, asked);
            assert_eq!(code(&document), "witness", "{gone:?} {asked}");
            let next = document["error"]["next"].as_str().unwrap();
            assert!(next.starts_with("restore /"), "{next}");
        }
        begin_anew(&witness);
        copy(&whole, seen.parent().unwrap());
        fs::set_permissions(
            seen.with_file_name("key.pem"),
            PermissionsExt::from_mode(0o600),
        )
        .unwrap();
        assert_eq!(code(&witness.ends(4, &fork)), "fork");
        witness.ok(&add);
    }
    // A list that was emptied, cut short or spoilt is none.
    let good = fs::read(&list).unwrap();
    for bad in [
        &b""[..],
        &good[..good.len() - 1],
        b"handoff witness: cosigned\nx\n",
    ] {
        fs::write(&list, bad).unwrap();
        fs::remove_file(&checkpoint).unwrap();
        assert_eq!(code(&witness.ends(5, &fork)), "witness");
        fs::copy(
            whole.join("seen").join(checkpoint.file_name().unwrap()),
            &checkpoint,
        )
        .unwrap();
    }
    // The control: one that begins anew, with another key, knows nothing of it.
    begin_anew(&witness);
    witness.ok(&fork);
}

/// The witness is stopped at the moment of its answer: its standard output is a pipe that is full.
/// What it is about to say is kept by then; killed there, it says it when asked again.
#[test]
fn a_witness_killed_between_keeping_and_answering_has_kept_it_and_answers_again() {
    let (_machine, Offered { witness, add, .. }) = Offered::new();
    for round in 0..20 {
        witness.ok("witness key");
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        fill(&mut writer);
        let mut command = witness.command(&add);
        let mut child = command.stdout(writer).spawn().unwrap();
        drop(command);
        let started = Instant::now();
        while kept(&witness).is_empty() {
            assert!(
                started.elapsed() < HANG,
                "nothing is kept before the answer"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        if round % 2 == 1 {
            // Time to get as far as the answer.
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut said = Vec::new();
        reader.read_to_end(&mut said).unwrap();
        assert!(
            said.iter().all(|byte| *byte == FILLER),
            "it has answered nothing"
        );
        let [(name, bytes)] = kept(&witness).try_into().unwrap();
        SignedCheckpoint::parse(&bytes).unwrap();
        let document = witness.ok(&add);
        assert_eq!(document["size"], 5);
        assert_eq!(kept(&witness), [(name.clone(), bytes)]);
        begin_anew(&witness);
    }
}

const FILLER: u8 = b'.';

/// Fills a pipe up to the last byte.
fn fill(writer: &mut std::io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let flags = fcntl_getfl(&*writer).unwrap();
    fcntl_setfl(&*writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[FILLER; 4096]).is_ok() {}
    while writer.write(&[FILLER]).is_ok() {}
    fcntl_setfl(&*writer, flags).unwrap();
}

/// Two histories are offered at once, again and again: never are both cosigned.
#[test]
fn of_two_histories_offered_at_once_one_is_cosigned() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let other = twin(&machine, &root, "other");
    root.ok("probe -- cat five.txt");
    other.open("twin");
    let witness = witness_of(&machine, &root);
    let requests = [request(&root, 0), request(&other, 0)];
    for _ in 0..10 {
        let key = witness.ok("witness key");
        let key: VerifierKey = key["witness"].as_str().unwrap().parse().unwrap();
        let started: Vec<_> = [0, 1, 0, 1]
            .map(|at| {
                (
                    at,
                    witness.start(&format!("witness add {}", requests[at].display())),
                )
            })
            .into_iter()
            .collect();
        let ended = started.into_iter().map(|(at, child)| {
            let output = child.wait_with_output().unwrap();
            (
                at,
                output.status.code().unwrap(),
                String::from_utf8(output.stdout).unwrap(),
            )
        });
        let ended: Vec<(usize, i32, String)> = ended.collect();
        let cosigned: Vec<&(usize, i32, String)> =
            ended.iter().filter(|(_, exit, _)| *exit == 0).collect();
        let winner = cosigned[0].0;
        for (at, exit, line) in &ended {
            assert_eq!(*exit, if *at == winner { 0 } else { 4 }, "{ended:?}");
            if *at == winner {
                let text = fs::read_to_string(&requests[winner]).unwrap();
                let (_, checkpoint) = text.split_once("\n\n").unwrap();
                let cosigned = format!("{checkpoint}{line}");
                let signed = SignedCheckpoint::parse(cosigned.as_bytes()).unwrap();
                assert!(
                    signed
                        .vouched([], std::slice::from_ref(&key))
                        .unwrap()
                        .has(&key)
                );
            }
        }
        begin_anew(&witness);
    }
}
