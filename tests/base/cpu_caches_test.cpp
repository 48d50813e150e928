#include "base/cpu_caches.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace gyre {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "gyre-caches-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void add(int cpu, int index, const char* level, const char* type, const char* size,
           const char* shared) const {
    const auto at =
        path_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(at);
    std::ofstream(at / "level") << level << '\n';
    std::ofstream(at / "type") << type << '\n';
    std::ofstream(at / "size") << size << '\n';
    std::ofstream(at / "shared_cpu_list") << shared << '\n';
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("caches are read per level, and each shared last-level cache counts once") {
  const Folder folder;
  for (int cpu = 0; cpu < 3; ++cpu) {
    folder.add(cpu, 0, "1", "Data", "48K", std::to_string(cpu).c_str());
    folder.add(cpu, 1, "1", "Instruction", "64K", std::to_string(cpu).c_str());
    folder.add(cpu, 2, "2", "Unified", "2M", std::to_string(cpu).c_str());
    folder.add(cpu, 3, "3", "Unified", "32768K", cpu < 2 ? "0-1" : "2");
  }
  const std::vector<int> cpus = {0, 1, 2};
  const CpuCaches caches = read_cpu_caches(cpus, folder.path());
  CHECK(caches.first_level == 48 << 10);
  CHECK(caches.second_level == 2 << 20);
  CHECK(caches.last_level == 32 << 20);
  CHECK(caches.last_levels == 64 << 20);
}

TEST_CASE("where the kernel tells nothing about caches, common sizes stand in") {
  const Folder folder;
  const std::vector<int> cpus = {0};
  CHECK(read_cpu_caches(cpus, folder.path()).last_levels == CpuCaches{}.last_levels);
}

}  // namespace gyre
