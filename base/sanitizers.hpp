// Which sanitizer this code is compiled for.
#pragma once

namespace gyre {

#if defined(__has_feature)
#define GYRE_HAS_FEATURE(name) __has_feature(name)
#else
#define GYRE_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || GYRE_HAS_FEATURE(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || GYRE_HAS_FEATURE(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

#undef GYRE_HAS_FEATURE

}  // namespace gyre
