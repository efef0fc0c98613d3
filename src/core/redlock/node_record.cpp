#include "core/redlock/node_record.hpp"

namespace holdfast::core::redlock {

std::string misfit_of_kind(const node_facts& f) {
  if (!f.master) {
    return "is a replica; Redlock needs independent masters: take it out of the list of nodes";
  }
  if (!f.standalone) {
    return "is a sentinel or a node of a Redis Cluster: take it out of the list of nodes";
  }
  return f.unsafe;
}

}  // namespace holdfast::core::redlock
