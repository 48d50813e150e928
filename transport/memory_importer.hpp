// How an endpoint gets at memory that another rank allocated as mappable. The bootstrap control
// plane implements it by asking the owner for the segment's descriptor; tests implement it with an
// array.
#pragma once

#include <cstddef>

#include "transport/endpoint.hpp"

namespace gyre::transport {

class MemoryImporter {
 public:
  virtual ~MemoryImporter() = default;

  /// The memory of rank `peer` that `ref` names, `bytes` long. `ref` comes from the peer: ready
  /// only when the whole range lies inside a segment that the importer has mapped and measured
  /// itself. pending: asked for, call again. Belongs to the thread that drives the rank; never
  /// blocks.
  virtual Mapping map(int peer, const MappedRef& ref, std::size_t bytes) = 0;
};

}  // namespace gyre::transport
