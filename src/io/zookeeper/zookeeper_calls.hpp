#pragma once

#include "io/zookeeper/zookeeper_connection.hpp"

#include <zookeeper/zookeeper.h>

namespace holdfast::io {

/// Hands one request to the library. False: it was not taken, and `done` will not be called.
/// Otherwise it is called once, from inside zookeeper_process() or zookeeper_interest().
///
/// Nodes are made for their creator alone when `own` is set, else for everybody.
bool call_zookeeper(zhandle_t* handle, const zoo_request& r, bool own,
                    zookeeper_connection::on_reply done);

}  // namespace holdfast::io
