//! Every driver that is installed refuses a call that nobody knows. Otherwise it would pass cases that it never ran.

use std::path::PathBuf;
use std::sync::Arc;

use hecaton_audit::subject::Process;
use hecaton_lab::run::receipt;
use hecaton_lab::spec::Catalogue;

#[test]
fn every_installed_driver_refuses_a_word_that_nobody_knows() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let logs = tempfile::tempdir().unwrap();
    let drivers = Catalogue::load(&root.join("drivers")).unwrap();
    let installed = drivers.all().filter(|manifest| receipt(manifest).is_ok());
    let mut refused = 0;
    for manifest in installed {
        let log = logs.path().join(&manifest.client);
        // Starting it sends such a call, and fails unless the driver refuses it.
        match Process::start(manifest, log, Arc::default(), false) {
            Ok(_) => refused += 1,
            Err(error) => {
                let says = format!("{error:#}");
                assert!(says.contains("its driver has no `ask`"), "{says}");
            }
        }
    }
    assert!(refused > 0, "no driver with `ask` is installed");
}
