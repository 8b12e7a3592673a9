//! Every driver that is installed refuses a call that nobody knows. Otherwise it would pass cases that it never ran.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hecaton_audit::subject::Process;
use hecaton_lab::run::receipt;
use hecaton_lab::spec::{Catalogue, Manifest};

#[test]
fn every_installed_driver_refuses_a_word_that_nobody_knows() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let logs = tempfile::tempdir().unwrap();
    let drivers = Catalogue::load(&root.join("drivers")).unwrap();
    let all: Vec<&Manifest> = drivers.all().collect();
    let (next, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Most of the time is spent on waiting for programs to start.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(manifest) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if receipt(manifest).is_ok() && refuses(manifest, logs.path()) {
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let refused = refused.into_inner();
    assert!(
        refused > 0,
        "no driver with the command `call` is installed"
    );
}

/// Whether it refuses the word, and not `call` as a whole.
fn refuses(manifest: &Manifest, logs: &Path) -> bool {
    // Starting it sends such a call, and fails unless the driver refuses it.
    match Process::start(manifest, logs.to_path_buf(), Arc::default(), false) {
        Ok(_) => true,
        Err(error) => {
            let says = format!("{error:#}");
            assert!(says.contains("its driver has no command `call`"), "{says}");
            false
        }
    }
}
