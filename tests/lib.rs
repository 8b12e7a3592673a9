//! End-to-end tests: see the files beside this one; there is no code here.
