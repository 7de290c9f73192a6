//! Acknowledging what comes on sockets as soon as it comes, whoever reads it. Linux delays that by 40 ms on a connection
//! that has answered anything; a peer that writes in two parts, with Nagle's algorithm on, waits for it.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use pyo3::prelude::*;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_quickack;

use crate::python::os::sockets::duplicate;

/// Of this many sockets at a time it is heard that something came.
const EVENTS_AT_ONCE: usize = 8;

/// From now on, in a thread that needs no interpreter lock, until the peers have hung up. It has duplicates of the
/// descriptors.
#[pyfunction]
pub fn acknowledge_at_once(descriptors: Vec<i32>) -> io::Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut sockets = Vec::with_capacity(descriptors.len());
    for (place, descriptor) in descriptors.into_iter().enumerate() {
        let socket = duplicate(descriptor)?;
        set_tcp_quickack(&socket, true)?;
        // Edge-triggered: it is told of each arrival, though others have not read the one before.
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&epoll, &socket, EventData::new_u64(place as u64), flags)?;
        sockets.push(Some(socket));
    }
    thread::Builder::new()
        .name("acknowledging".to_owned())
        .spawn(move || acknowledge(&epoll, sockets))
        .map(drop)
}

fn acknowledge(epoll: &OwnedFd, mut sockets: Vec<Option<OwnedFd>>) {
    let mut events = Vec::<Event>::with_capacity(EVENTS_AT_ONCE);
    while sockets.iter().any(Option::is_some) {
        events.clear();
        match epoll::wait(epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        for event in &events {
            let (flags, place) = (event.flags, event.data.u64() as usize);
            let Some(socket) = &sockets[place] else { continue };
            // Not for good: the next answer ends it.
            let _ = set_tcp_quickack(socket, true);
            if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
                let _ = epoll::delete(epoll, socket);
                sockets[place] = None;
            }
        }
    }
}
