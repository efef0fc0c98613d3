#include "cli/guardian_channel.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace holdfast::cli {

namespace {

struct header {
  message::kind what;
  std::int32_t number;
  std::uint32_t flag;
};

/// Room for exactly one descriptor beside a message.
struct control_room {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

descriptor descriptor_in(const msghdr& about) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&about); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&about), c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int fd{};
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return descriptor(fd);
  }
  return descriptor();
}

}  // namespace

bool send_message(int socket, const message& m, int pass) {
  const header head{m.what, m.number, m.flag ? 1U : 0U};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  for (const std::string& text : m.texts) bytes.append(text).push_back('\0');
  iovec part{bytes.data(), bytes.size()};
  msghdr about{};
  about.msg_iov = &part;
  about.msg_iovlen = 1;
  control_room room;
  if (pass >= 0) {
    about.msg_control = room.bytes.data();
    about.msg_controllen = room.bytes.size();
    cmsghdr* c = CMSG_FIRSTHDR(&about);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof pass);
    std::memcpy(CMSG_DATA(c), &pass, sizeof pass);
  }
  return ::sendmsg(socket, &about, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

received receive_message(int socket) {
  // The longest message, a start with the longest texts and 256 runs around it, has 17 KiB; and the
  // whole stack may be small (`ulimit -s`).
  std::array<char, 32 * 1024> bytes{};
  control_room room;
  iovec part{bytes.data(), bytes.size()};
  msghdr about{};
  about.msg_iov = &part;
  about.msg_iovlen = 1;
  about.msg_control = room.bytes.data();
  about.msg_controllen = room.bytes.size();
  const ssize_t size = ::recvmsg(socket, &about, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  header head{};
  // Without room for the descriptor the life lock did not arrive, and nothing may run without it.
  const bool cut = size >= 0 && (about.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
  if (cut || size < static_cast<ssize_t>(sizeof head)) return {.closed = true};
  std::memcpy(&head, bytes.data(), sizeof head);
  message m{.what = head.what,
            .number = head.number,
            .flag = head.flag != 0,
            .texts = {},
            .passed = descriptor_in(about)};
  std::string_view rest(bytes.data() + sizeof head, static_cast<std::size_t>(size) - sizeof head);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size() - 1);
    m.texts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return {.closed = false, .got = std::move(m)};
}

}  // namespace holdfast::cli
