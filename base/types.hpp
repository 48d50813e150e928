// The vocabulary every folder shares: element types, reduction operators, collectives.
// Numbers are part of the wire format and of the C ABI; where NCCL names the same thing its number
// is used, so that adapters convert by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gyre {

enum class DataType : std::uint8_t {
  int32 = 2,
  int64 = 4,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
};

enum class ReduceOp : std::uint8_t {
  sum = 0,
  max = 2,
  min = 3,
  avg = 4,
};

enum class Collective : std::uint8_t {
  all_reduce = 0,
  reduce_scatter = 1,
  all_gather = 2,
  broadcast = 3,
  barrier = 4,
};

/// One row per element type; everything that depends on a type's name or width reads it here.
struct DataTypeInfo {
  DataType type;
  std::string_view name;
  std::uint8_t bytes;
  bool integer;
};

inline constexpr DataTypeInfo data_types[] = {
    {DataType::float32, "float", 4, false}, {DataType::float64, "double", 8, false},
    {DataType::float16, "half", 2, false},  {DataType::bfloat16, "bfloat16", 2, false},
    {DataType::int32, "int32", 4, true},    {DataType::int64, "int64", 8, true},
};

struct ReduceOpInfo {
  ReduceOp op;
  std::string_view name;
};

inline constexpr ReduceOpInfo reduce_ops[] = {
    {ReduceOp::sum, "sum"},
    {ReduceOp::min, "min"},
    {ReduceOp::max, "max"},
    {ReduceOp::avg, "avg"},
};

struct CollectiveInfo {
  Collective collective;
  std::string_view name;
};

inline constexpr CollectiveInfo collective_table[] = {
    {Collective::all_reduce, "all_reduce"}, {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::all_gather, "all_gather"}, {Collective::broadcast, "broadcast"},
    {Collective::barrier, "barrier"},
};

/// The row of `type`, or nullptr for a number that names no type (a peer's or a caller's byte).
constexpr const DataTypeInfo* find(DataType type) {
  for (const auto& row : data_types)
    if (row.type == type) return &row;
  return nullptr;
}

constexpr const ReduceOpInfo* find(ReduceOp op) {
  for (const auto& row : reduce_ops)
    if (row.op == op) return &row;
  return nullptr;
}

constexpr const CollectiveInfo* find(Collective collective) {
  for (const auto& row : collective_table)
    if (row.collective == collective) return &row;
  return nullptr;
}

/// Name for messages: never fails, an unknown number reads "?".
template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  const auto* row = find(value);
  return row ? row->name : std::string_view{"?"};
}

/// Bytes of one element, 0 for an unknown type.
constexpr std::size_t size_of(DataType type) {
  const auto* row = find(type);
  return row ? row->bytes : 0;
}

/// More ranks than this are refused; it is also the limit of the rank field on the wire.
inline constexpr int ranks_max = 65536;

/// Bytes that no two threads should write within; counters are kept this far apart.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace gyre
