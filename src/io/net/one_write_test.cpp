#include "io/net/one_write.hpp"

#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::io {
namespace {

/// Notes its name where it is flushed.
class named_writer final : public one_write::writer {
 public:
  named_writer(std::string name, std::string& flushed)
      : name_(std::move(name)), flushed_(flushed) {}
  void flush() override {
    EXPECT_FALSE(one_write::gathers()) << "it would be kept once more";
    flushed_ += name_;
  }

 private:
  const std::string name_;
  std::string& flushed_;
};

TEST(one_write, flushes_each_writer_once_when_it_ends_in_the_order_in_which_they_came) {
  std::string flushed;
  const auto a = std::make_shared<named_writer>("a", flushed);
  const auto b = std::make_shared<named_writer>("b", flushed);
  EXPECT_FALSE(one_write::gathers());
  {
    const one_write together;
    EXPECT_TRUE(one_write::gathers());
    one_write::add(b);
    one_write::add(a);
    one_write::add(b);
    EXPECT_EQ(flushed, "");
  }
  EXPECT_FALSE(one_write::gathers());
  EXPECT_EQ(flushed, "ba");
}

TEST(one_write, inside_another_one_leaves_all_to_that) {
  std::string flushed;
  const auto a = std::make_shared<named_writer>("a", flushed);
  std::optional<one_write> outer(std::in_place);
  {
    const one_write inner;
    one_write::add(a);
  }
  EXPECT_TRUE(one_write::gathers());
  EXPECT_EQ(flushed, "");
  outer.reset();
  EXPECT_EQ(flushed, "a");
}

TEST(one_write, on_the_loop_s_thread_gathers_nothing) {
  const auto l = *loop::start();
  latch done;
  l->post([&] {
    const one_write together;
    EXPECT_FALSE(one_write::gathers());
    done.open();
  });
  done.wait();
}

}  // namespace
}  // namespace holdfast::io
