//! Commands on a folder that another process holds: each says who holds it and what to do, and waits for nobody who is
//! stopped.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{World, end_of, ending, hecaton, until};

fn slow() -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(100)),
        ..Options::default()
    })
}

fn signal(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id() as i32), signal).expect("it is our child");
}

/// Stops a process, and returns when it is stopped.
fn stop(process: &Child) {
    signal(process, Signal::SIGSTOP);
    let stat = format!("/proc/{}/stat", process.id());
    until(|| {
        std::fs::read_to_string(&stat)
            .expect("its state")
            .contains(") T ")
    });
}

fn on(verb: &str, world: &World) -> Command {
    let mut command = hecaton(&["fetch", verb]);
    command.arg(world.out());
    command
}

/// Each command that needs the folder fails, and names the process.
fn are_refused(world: &World, holder: &Child, commands: [Command; 3]) {
    for (is_stopped, words) in [(false, "works on"), (true, "is stopped")] {
        if is_stopped {
            stop(holder);
        }
        for mut command in commands.iter().map(again) {
            let ended = ending(&mut command);
            let said = &ended.stderr;
            assert_eq!(ended.status, Some(1), "{command:?}: {said}");
            let who = format!("process {} on ", holder.id());
            assert!(said.contains(&who) && said.contains(words), "{said}");
            let remedy = format!(
                "`kill -CONT {0}` resumes it, and `kill -KILL {0}` ends it",
                holder.id()
            );
            assert_eq!(said.contains(&remedy), is_stopped, "{said}");
            let shown = format!("`hecaton fetch status {}`", world.out().display());
            assert_eq!(said.contains(&shown), !is_stopped, "{said}");
        }
    }
}

/// The same command once more.
fn again(command: &Command) -> Command {
    let mut same = hecaton(&[]);
    same.args(command.get_args());
    same
}

#[test]
fn a_command_on_a_held_folder_names_the_process_that_holds_it() {
    let world = slow();
    let list = world.list(0..1000);
    let base = world.server.base_url();
    let more = world.write("more.txt", (1000..1010).map(|id| format!("{base}/r/{id}")));
    let commands = || {
        let mut add = on("add", &world);
        add.arg(&more);
        [on("again", &world), add, on("-o", &world)]
    };
    // It would take a minute, and no command takes so long to be refused.
    let first = world.fetch(&list, &["-c", "2"]).spawn().expect("it starts");
    world.wait_for(5);
    are_refused(&world, &first, commands());
    // Commands that only read need no lock.
    for mut command in [on("status", &world), on("report", &world)] {
        assert_eq!(ending(&mut command).status, Some(0));
    }
    killed(first);
    world.run(&list, &["-c", "200"]);
    let begun = world.server.summary().requests;
    let mut round = on("again", &world);
    let round = round.args(["--where", "line > 0", "-c", "2"]);
    let round = round.spawn().expect("it starts");
    world.wait_for(begun + 5);
    let [again, _, resume] = commands();
    let mut other = on("again", &world);
    other.args(["--where", "line > 0"]);
    are_refused(&world, &round, [again, other, resume]);
    killed(round);
    assert_eq!(world.records().len(), 1000);
}

fn killed(process: Child) {
    signal(&process, Signal::SIGKILL);
    end_of(process);
}

#[test]
fn nobody_waits_for_a_stopped_process_that_writes_the_same_file() {
    let world = World::new();
    world.run(&world.list(0..5), &[]);
    let table = world.path("table.csv");
    let holder = locked(&world.path("table.csv.draft"));
    stop(&holder);
    let mut export = on("export", &world);
    export.arg("--csv").arg(&table);
    let ended = ending(&mut export);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let who = format!("process {} on ", holder.id());
    let has = |words: &str| ended.stderr.contains(words);
    assert!(
        has(&who) && has("is stopped: `kill -CONT"),
        "{}",
        ended.stderr
    );
    killed(holder);
    assert_eq!(ending(&mut export).status, Some(0));
    assert!(table.exists());
}

/// A process that has locked a file.
fn locked(file: &Path) -> Child {
    let mut command = Command::new("flock");
    let holder = command.arg("--no-fork").arg(file).args(["sleep", "1000"]);
    let holder = holder.spawn().expect("flock is there");
    let has_lock = |line: &str| line.contains(&format!(" {} ", holder.id()));
    until(|| {
        let locks = std::fs::read_to_string("/proc/locks").expect("the locks");
        locks.lines().any(has_lock)
    });
    holder
}
