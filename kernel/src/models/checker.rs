//! Runs models, as they are and with a fault.

use std::env;
use std::process::Command;

use crate::sync::{Fault, give};

const FAULT_VARIABLE: &str = "BARNABAS_MODEL_FAULT";
/// How often, in one course of a model, a thread may be cut off in its turn.
const CUTS: usize = 3;

/// Every course that the threads of `model` may take.
pub fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(CUTS);
    builder.check(model);
}

/// Whether a course of the model fails where the code has this fault, in a process of its own: one in which threads wait
/// for ever aborts it. `test`: the path of the test that calls this.
pub fn assert_found(test: &str, fault: Fault, model: impl Fn() + Send + Sync + 'static) {
    if env::var_os(FAULT_VARIABLE).is_some() {
        give(fault);
        return explore(model);
    }
    let (_crate, name) = test.split_once("::").unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(FAULT_VARIABLE, "1")
        .output()
        .unwrap();
    assert!(!output.status.success(), "{fault:?} was not found");
}

/// `name: fault in model;` each is a test that the checker finds the fault.
macro_rules! find {
    ($($name:ident: $fault:ident in $model:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let test = concat!(module_path!(), "::", stringify!($name));
                $crate::models::checker::assert_found(test, $crate::sync::Fault::$fault, $model);
            }
        )+
    };
}
pub(crate) use find;
