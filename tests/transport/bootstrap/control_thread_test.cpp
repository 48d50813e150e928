#include "transport/bootstrap/control_thread.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>

#include "tests/transport/bootstrap/harness.hpp"

using namespace gyre;
using namespace gyre::transport;
using test::eventually;
using test::soon;

TEST_CASE("tasks run on the control thread, in order, and run() waits for its own") {
  auto control = test::start_control();
  std::vector<int> order;
  control->post([&] { order.push_back(1); });
  control->post([&] { order.push_back(2); });
  bool current = false;
  control->run([&] {
    order.push_back(3);
    control->run([&] { order.push_back(4); });  // at once on the thread itself
    current = control->is_current();
  });
  CHECK(order == std::vector<int>{1, 2, 3, 4});
  CHECK(current);
  CHECK_FALSE(control->is_current());
}

TEST_CASE("what was posted before the end still runs") {
  std::atomic<int> ran = 0;
  auto control = test::start_control();
  for (int i = 0; i < 100; ++i) control->post([&] { ++ran; });
  control->post([&, raw = control.get()] { raw->post([&] { ++ran; }); });
  control.reset();
  CHECK(ran == 101);
}

TEST_CASE("a watch reports readiness and is quiet after unwatch") {
  auto control = test::start_control();
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<int> calls = 0;
  std::atomic<std::uint32_t> reported = 0;
  const auto watch = control->watch(event.get(), EPOLLIN, [&](std::uint32_t events) {
    reported = events;
    eventfd_t value;
    ::eventfd_read(event.get(), &value);
    ++calls;
  });
  REQUIRE(watch.ok());
  ::eventfd_write(event.get(), 1);
  REQUIRE(eventually([&] { return calls == 1; }));
  CHECK((reported & EPOLLIN) != 0);
  control->unwatch(*watch);
  ::eventfd_write(event.get(), 1);
  test::sleep_ms(20);
  CHECK(calls == 1);
}

TEST_CASE("a callback may end its own watch and another that is ready in the same turn") {
  // Closed after the control thread has ended.
  UniqueFd events[2] = {UniqueFd(::eventfd(0, EFD_CLOEXEC)), UniqueFd(::eventfd(0, EFD_CLOEXEC))};
  auto control = test::start_control();
  std::atomic<int> calls = 0;
  ControlThread::WatchId watches[2] = {};
  control->run([&] {
    for (int i = 0; i < 2; ++i)
      watches[i] = *control->watch(events[i].get(), EPOLLIN, [&](std::uint32_t) {
        ++calls;
        control->unwatch(watches[0]);
        control->unwatch(watches[1]);
      });
    for (const auto& event : events) ::eventfd_write(event.get(), 1);
  });
  REQUIRE(eventually([&] { return calls > 0; }));
  test::sleep_ms(20);
  CHECK(calls == 1);
}

TEST_CASE("watches come and go from several threads while callbacks run") {
  auto control = test::start_control();
  std::atomic<int> running = 0;
  std::vector<std::thread> threads;
  std::atomic<bool> late = false;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        UniqueFd event(::eventfd(1, EFD_CLOEXEC));
        auto alive = std::make_unique<std::atomic<bool>>(true);
        const auto watch =
            control->watch(event.get(), EPOLLIN, [&, raw = alive.get()](std::uint32_t) {
              ++running;
              if (!raw->load()) late = true;
            });
        if (i % 2 == 0) std::this_thread::yield();
        control->unwatch(*watch);
        alive->store(false);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(late);
}

TEST_CASE("timers run in the order of their moments, and not when cancelled") {
  auto control = test::start_control();
  std::vector<int> order;
  std::atomic<bool> last = false;
  bool never_armed = false;
  control->run([&] {
    control->at(soon(30), [&] {
      order.push_back(3);
      last = true;
    });
    control->at(soon(10), [&] { order.push_back(1); });
    const auto cancelled = control->at(soon(15), [&] { order.push_back(2); });
    control->cancel(cancelled);
    control->cancel({});
    never_armed = control->at(Deadline(), [] {}) == ControlThread::Timer{};
  });
  CHECK(never_armed);
  REQUIRE(eventually([&] { return last.load(); }));
  std::vector<int> seen;
  control->run([&] { seen = order; });
  CHECK(seen == std::vector<int>{1, 3});
}

TEST_CASE("an idle control thread does not wake up") {
  auto control = test::start_control();
  const auto switches = [] {
    std::ifstream stream;
    long total = 0;
    DIR* tasks = ::opendir("/proc/self/task");
    while (const dirent* entry = ::readdir(tasks)) {
      std::ifstream name(std::string("/proc/self/task/") + entry->d_name + "/comm");
      std::string comm, word;
      std::getline(name, comm);
      if (comm != "gyre-control") continue;
      std::ifstream status(std::string("/proc/self/task/") + entry->d_name + "/status");
      while (status >> word)
        if (word == "voluntary_ctxt_switches:") status >> total;
    }
    ::closedir(tasks);
    return total;
  };
  test::sleep_ms(50);
  const long before = switches();
  CHECK(before > 0);  // found by its name
  test::sleep_ms(300);
  CHECK(switches() == before);
}

TEST_CASE("a forked child can neither use nor hang on its parent's control thread") {
  auto control = test::start_control();
  test::Child child([&] {
    bool ran = false;
    control->run([&] { ran = true; });
    control->post([&] { ran = true; });
    const bool refused = !control->watch(0, EPOLLIN, [](std::uint32_t) {}).ok();
    control.reset();
    return !ran && refused ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("starting and ending leaves no descriptor") {
  test::start_control().reset();
  const int before = test::count_descriptors();
  for (int i = 0; i < 20; ++i) test::start_control().reset();
  CHECK(test::count_descriptors() == before);
}
