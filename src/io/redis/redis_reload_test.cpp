#include "io/redis/redis_reload.hpp"

#include "wire/resp_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::io {
namespace {

using ::testing::HasSubstr;

wire::reply answer(wire::reply_kind kind, std::string text) {
  wire::reply r;
  r.kind = kind;
  r.text = std::move(text);
  return r;
}

redis_facts version(std::string v) {
  redis_facts f;
  f.version = std::move(v);
  return f;
}

TEST(redis_reload, is_in_doubt_where_the_file_is_loaded_as_another_user) {
  EXPECT_FALSE(redis_reload::is_in_doubt(version("6.2.14")));
  EXPECT_TRUE(redis_reload::is_in_doubt(version("7.0.15")));
  EXPECT_TRUE(redis_reload::is_in_doubt(version("10.0.0")));
}

TEST(redis_reload, asks_for_the_key_that_is_given) {
  for (const std::string& question : redis_reload::questions("some key")) {
    EXPECT_THAT(question, HasSubstr("\r\nDRYRUN\r\n$7\r\ndefault\r\n"));
    EXPECT_THAT(question, HasSubstr("\r\nsome key\r\n"));
  }
}

TEST(redis_reload, objects_to_anything_but_ok) {
  const auto ok = answer(wire::reply_kind::status, "OK");
  redis_reload all;
  all.answered(ok);
  EXPECT_EQ(all.objection(), "");
  all.answered(answer(wire::reply_kind::text, "no permissions to run the 'hset' command"));
  all.answered(ok);
  EXPECT_THAT(all.objection(), HasSubstr("'no permissions to run the 'hset' command'"));
  EXPECT_THAT(all.objection(), HasSubstr("ACL SETUSER default ~* &* +@all"));

  redis_reload refused;
  refused.answered(answer(wire::reply_kind::error, "NOPERM no 'acl|dryrun'"));
  EXPECT_THAT(refused.objection(), HasSubstr("Allow +acl|dryrun"));

  redis_reload silent;
  silent.not_answered();
  EXPECT_THAT(silent.objection(), HasSubstr("did not answer"));
}

TEST(redis_reload, tells_the_first_of_several_objections) {
  redis_reload all;
  all.answered(answer(wire::reply_kind::text, "no 'hset'"));
  all.answered(answer(wire::reply_kind::text, "no 'del'"));
  all.not_answered();
  EXPECT_THAT(all.objection(), HasSubstr("'no 'hset''"));
}

}  // namespace
}  // namespace holdfast::io
