//! Other libraries read the written files.

use std::path::Path;
use std::process::Command;

/// Runs Python over a folder; none if there is none, or it lacks the module.
pub(crate) fn python(module: &str, program: &str, folder: &Path) -> Option<String> {
    let python = std::env::var("HECATON_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output()
        .ok()?;
    if !has.status.success() {
        eprintln!("not checked: {python} has no {module}");
        return None;
    }
    let output = Command::new(python)
        .args(["-c", program])
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}
