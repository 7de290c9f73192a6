//! What threads may do to each other with a connection that is lent, every order of it, as loom finds them: the code is
//! the kernel's own, with a wire in a socket's place.

mod checker;
mod fetch;
mod handed_out;
mod lending;
mod produce;
mod wire;
