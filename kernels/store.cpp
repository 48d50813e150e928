// When results should go past the caches.
#include "kernels/kernels.hpp"

namespace gyre::kernels {

Store choose_store(std::size_t bytes_touched, std::size_t last_level_cache_bytes) {
  return bytes_touched > last_level_cache_bytes ? Store::streamed : Store::regular;
}

}  // namespace gyre::kernels
