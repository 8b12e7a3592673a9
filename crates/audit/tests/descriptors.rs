//! The server of the audit ends also where no descriptor is free. The program has one test, because it takes all descriptors.

use std::fs::File;

use hecaton_audit::case::Catalogue;
use hecaton_audit::server::Server;
use hecaton_lab::spec::Project;

#[test]
fn a_server_ends_although_no_descriptor_is_free() {
    let case = Catalogue::load(&Project::built_in()).unwrap().all()[0].clone();
    let server = Server::start(vec![case], None).unwrap();
    let all: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!all.is_empty());
    assert!(File::open("/dev/null").is_err(), "a descriptor is free");
    // It does not return if one of the server's threads waits for ever.
    server.stop();
}
