#include "bench/measure.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <stdexcept>

extern char** environ;

namespace holdfast::bench {

namespace {

double spawn_and_wait(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const auto begin = now_us();
  pid_t pid = 0;
  if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("posix_spawn " + arguments[0]);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error(arguments[0] + " failed");
  return now_us() - begin;
}

}  // namespace

std::vector<measure> program_rows(const programs& p) {
  const auto once = [p](const std::string& directory) -> sample {
    const std::string store = "local:" + directory + "/store";
    std::vector<double> ours, bare;
    for (int i = 0; i < 40; ++i) {
      bare.push_back(spawn_and_wait({"true"}) / 1e3);
      ours.push_back(spawn_and_wait({p.holdfast, "run", "x", "--store", store, "--", "true"}) /
                     1e3);
    }
    return {median(ours), median(bare)};
  };
  return {{"holdfast run x -- true", "ms", "true", bar::ours_over_bare_at_most, 8, 0, once}};
}

}  // namespace holdfast::bench
