#include "tests/redis_io/tls_fixture.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

/// Certificates, keys and CAs that are replaced on disk under a running program.

namespace holdfast::io {
namespace {

using redis_tests::address_of;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// Times of files are coarse: one that was just written may be written again at the same time.
std::shared_ptr<const tls_context> settled(tls_source& source) {
  std::this_thread::sleep_for(2100ms);
  auto now = source.current();
  EXPECT_EQ(source.current(), now);
  return now;
}

class redis_tls_renewal : public tls_fixture {
 protected:
  certificate::options own(const char* name, const certificate& by, long seconds = 86'400) const {
    return {.directory = directory_.path(),
            .name = name,
            .alternative = "DNS:localhost,IP:127.0.0.1",
            .valid_seconds = seconds,
            .issuer = &by};
  }
};

TEST_F(redis_tls_renewal, a_client_whose_certificate_has_expired_is_let_in_with_the_next_one) {
  redis_tests::server server({.tls = true, .settings = settings(good_, "yes")});
  const certificate old(own("client", ca_, -3600));
  redis_client client(to(address_of(server), showing(old)));
  client.events->wait_down();
  EXPECT_FALSE(client.connection->is_up());
  const certificate renewed(own("client", ca_));
  client.events->wait_up();
  EXPECT_TRUE(client.ask(1, bytes_of("SET", "k", "v")).reply.is_ok());
}

TEST_F(redis_tls_renewal, a_server_whose_new_certificate_is_of_a_new_ca_is_trusted_with_it) {
  redis_tests::server server({.tls = true, .settings = settings(good_)});
  const std::string trusted = directory_.path() + "/trusted.crt";
  std::filesystem::copy_file(ca_.certificate_file(), trusted);
  redis_client client(to(address_of(server), {.ca_file = trusted}));
  client.events->wait_up();
  const certificate next_ca({.directory = directory_.path(), .name = "next"});
  const certificate next(own("good", next_ca));
  server.kill();
  server.start();
  EXPECT_TRUE(process::eventually([&] {
    const auto why = client.connection->trouble();
    return why && contains(why->message(), "not accepted");
  }));
  // Put in its place in one step, as whoever mounts secrets does.
  std::filesystem::copy_file(next_ca.certificate_file(), trusted + ".new");
  std::filesystem::rename(trusted + ".new", trusted);
  client.events->wait_up(2);
}

TEST_F(redis_tls_renewal, files_that_are_being_written_leave_the_last_good_ones_in_use) {
  redis_tests::server server({.tls = true, .settings = settings(good_, "yes")});
  const certificate mine(own("client", ca_));
  auto options = showing(mine);
  options.ca_file = directory_.path() + "/trusted.crt";
  std::filesystem::copy_file(ca_.certificate_file(), options.ca_file);
  redis_client client(to(address_of(server), options));
  client.events->wait_up();
  for (const auto& file : {options.ca_file, options.certificate_file, options.key_file}) {
    const auto text = text_of(file);
    write(file, text.substr(0, text.size() / 2));
  }
  server.kill();
  server.start();
  client.events->wait_up(2);
  std::filesystem::remove(options.key_file);
  server.kill();
  server.start();
  client.events->wait_up(3);
}

TEST_F(redis_tls_renewal, the_files_are_read_again_only_when_they_have_changed) {
  const certificate mine(own("client", ca_));
  const auto source = *tls_source::make(showing(mine));
  const auto first = settled(*source);
  const auto old_key = text_of(mine.key_file());
  const certificate renewed(own("client", ca_));
  EXPECT_NE(source->current(), first);
  const auto second = settled(*source);

  // The certificate is there before its key is.
  const auto key = text_of(mine.key_file());
  write(mine.key_file(), old_key);
  EXPECT_EQ(source->current(), second);
  write(mine.key_file(), key);
  EXPECT_NE(source->current(), second);
}

TEST_F(redis_tls_renewal, files_that_were_just_written_are_read_again_each_time) {
  // Which may have been written once more, within the grain of their times.
  const auto source = *tls_source::make(trusting_ca());
  bool was_read_again = false;
  for (int attempt = 0; attempt < 20 && !was_read_again; ++attempt) {  // A machine may be slow.
    write(ca_.certificate_file(), text_of(ca_.certificate_file()));
    const auto now = source->current();
    was_read_again = source->current() != now;
  }
  EXPECT_TRUE(was_read_again);
}

// Kubernetes and others replace a directory of secrets by a link to another one.
TEST_F(redis_tls_renewal, a_link_that_points_to_other_files_is_a_change) {
  const std::string link = directory_.path() + "/link";
  const auto other = directory_.path() + "/other";
  std::filesystem::create_directory(other);
  const certificate elsewhere({.directory = other, .name = "ca"});
  std::filesystem::create_symlink(directory_.path(), link);
  const auto source = *tls_source::make({.ca_file = link + "/ca.crt"});
  const auto first = settled(*source);
  std::filesystem::create_symlink(other, link + ".new");
  std::filesystem::rename(link + ".new", link);
  EXPECT_NE(source->current(), first);
}

TEST_F(redis_tls_renewal, a_pipe_is_read_once) {
  const std::string pipe = directory_.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write(pipe, text_of(ca_.certificate_file())); });
  const auto source = *tls_source::make({.ca_file = pipe});
  writer.join();
  EXPECT_EQ(source->current(), source->current());
}

TEST_F(redis_tls_renewal, a_file_is_found_again_from_another_directory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const auto source = *tls_source::make({.ca_file = "ca.crt"});
  std::filesystem::current_path(before);
  const auto first = source->current();
  const certificate renewed({.directory = directory_.path(), .name = "ca"});
  EXPECT_NE(source->current(), first);
}

}  // namespace
}  // namespace holdfast::io
