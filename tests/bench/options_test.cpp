// The command line: what is understood, and that what is not names its cause and the fix.
#include "bench/options.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using namespace gyre;
using namespace gyre::bench;

namespace {

ParsedLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "gyre-bench");
  return parse_line(static_cast<int>(words.size()), words.data());
}

bool refused_with(const ParsedLine& line, const std::string& part) {
  INFO(line.text);
  CHECK(line.exit_code == exit_usage);
  return !line.run && line.text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sizes are bytes with an optional K, M or G") {
  CHECK(parse_size("0").value() == 0);
  CHECK(parse_size("8").value() == 8);
  CHECK(parse_size("64K").value() == 65536);
  CHECK(parse_size("64k").value() == 65536);
  CHECK(parse_size("1.5M").value() == 3u << 19);
  CHECK(parse_size("2GB").value() == std::uint64_t{2} << 30);
  for (const char* text : {"", "K", "-1", "1T", "1.3", "1KK", "1e3", "9999999G", "nan", " 8"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text).ok());
  }
}

TEST_CASE("sizes are printed in their shortest exact form and read back") {
  CHECK(size_text(8) == "8");
  CHECK(size_text(1000) == "1000");
  CHECK(size_text(65536) == "64K");
  CHECK(size_text(3u << 19) == "1.5M");
  for (const std::uint64_t bytes : {1ull, 1536ull, 1048580ull, 256ull << 20, 3ull << 30})
    CHECK(parse_size(size_text(bytes)).value() == bytes);
}

TEST_CASE("a line in nccl-tests' manner is understood") {
  const auto line = parse({"reduce_scatter",
                           "-n",
                           "4",
                           "-b",
                           "1K",
                           "-e",
                           "1M",
                           "-f",
                           "4",
                           "-w",
                           "3",
                           "-c",
                           "0",
                           "-o",
                           "max",
                           "-d",
                           "half",
                           "-z",
                           "0",
                           "--iters",
                           "7"});
  REQUIRE(line.run);
  const Options& o = line.options;
  CHECK(o.collective == Collective::reduce_scatter);
  CHECK(o.ranks == 4);
  CHECK(o.bytes_min == 1024);
  CHECK(o.bytes_max == 1048576);
  CHECK(o.step_factor == 4);
  CHECK(o.warm_up == 3);
  CHECK_FALSE(o.check);
  CHECK(o.ops == std::vector{ReduceOp::max});
  CHECK(o.dtypes == std::vector{DataType::float16});
  CHECK_FALSE(o.blocking);
  CHECK(o.iterations == 7);
  CHECK(o.root == rotating_root);
}

TEST_CASE("the issue's command lines are understood") {
  CHECK(parse({"all_reduce", "-n", "2", "-b", "8", "-e", "256M", "-f", "2", "--vs",
               "openmpi,mpich,gloo,impi"})
            .options.peers.size() == 4);
  CHECK(parse({"broadcast", "-r", "1"}).options.root == 1);
  CHECK(parse({"all_gather", "-d", "all", "-o", "all"}).options.dtypes.size() == 6);
  CHECK(parse({"all_reduce", "-J", "f", "--plot", "p"}).options.json == "f");
}

TEST_CASE("bad lines are refused with cause and fix") {
  CHECK(refused_with(parse({"all_reduce", "--bogus"}), "unknown argument --bogus"));
  CHECK(refused_with(parse({"all_reduce", "--bogus"}), "gyre-bench all_reduce --help"));
  CHECK(refused_with(parse({"all_redude"}), "unknown command all_redude; there are all_reduce"));
  CHECK(refused_with(parse({"all_reduce", "-b", "8X"}), "unknown unit"));
  CHECK(refused_with(parse({"all_reduce", "-d", "float8"}), "bfloat16"));
  CHECK(refused_with(parse({"all_reduce", "-o", "prod"}), "sum, min, max, avg"));
  CHECK(refused_with(parse({"all_reduce", "-n", "0"}), "--ranks"));
  CHECK(refused_with(parse({"all_reduce", "-n", "257"}), "--ranks"));
  CHECK(refused_with(parse({"all_reduce", "-b", "2M", "-e", "1M"}), "larger than"));
  CHECK(refused_with(parse({"broadcast", "-r", "2"}), "0 to 1, or rotate"));
  CHECK(refused_with(parse({"all_reduce", "-i", "4", "-f", "2"}), "exclude"));
  CHECK(refused_with(parse({"all_reduce", "--threads", "--vs", "gloo"}), "--threads and --vs"));
  CHECK(refused_with(parse({"all_reduce", "-z", "0", "--vs", "gloo"}), "-z 0"));
  CHECK(refused_with(parse({"all_reduce", "--vs", "gloo,gloo"}), "twice"));
  CHECK(refused_with(parse({"all_reduce", "--plot", "p"}), "--json"));
  CHECK(refused_with(parse({"all_reduce", "--self-test", "spin-peer"}), "--vs"));
  CHECK(refused_with(parse({"all_reduce", "-b", "0", "-e", "3"}), "whole elements"));
  CHECK(refused_with(parse({"all_reduce", "-b", "0", "-e", "1G", "-i", "8"}), "sizes"));
}

TEST_CASE("help is no error and says what differs from nccl-tests") {
  const auto line = parse({"all_reduce", "--help"});
  CHECK_FALSE(line.run);
  CHECK(line.exit_code == 0);
  CHECK(line.text.find("number of ranks") != std::string::npos);
  CHECK(line.text.find("--self-test") != std::string::npos);
}

TEST_CASE("sizes grow by factor or step and hold whole elements for all ranks") {
  Options o;
  o.bytes_min = 8;
  o.bytes_max = 64;
  CHECK(sizes_of(o, DataType::float32).value() == std::vector<std::uint64_t>{8, 16, 32, 64});
  o.step_bytes = 24;
  CHECK(sizes_of(o, DataType::float32).value() == std::vector<std::uint64_t>{8, 32, 56});
  o.step_bytes = 0;
  o.collective = Collective::all_gather;
  o.ranks = 3;
  CHECK(sizes_of(o, DataType::float64).value() == std::vector<std::uint64_t>{24, 48});
  CHECK(count_of(o.collective, DataType::float64, 48, 3) == 2);
  CHECK(count_of(Collective::all_reduce, DataType::float64, 48, 3) == 6);
}
