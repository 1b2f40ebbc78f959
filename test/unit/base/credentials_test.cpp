#include "base/process/credentials.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"
#include "catch.h"

using gpuprof::parse_users;
using gpuprof::peer_credentials;
using gpuprof::UniqueFd;

TEST_CASE("the user and group ids of a process are read from its status") {
  const auto users = parse_users("Name:\tx\nState:\tS\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t4294967294\nGroups:\t\n");
  REQUIRE(users);
  CHECK(users->uids == std::array<uid_t, 4>{1, 2, 3, 4});
  CHECK(users->gids == std::array<gid_t, 4>{5, 6, 7, 4294967294});
  CHECK_FALSE(users->are_all(1, 5));
}

TEST_CASE("are_all() requires that all user and group ids are equal") {
  const std::string one = "Name:\tx\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\n";
  REQUIRE(parse_users(one));
  CHECK(parse_users(one)->are_all(7, 8));
  CHECK_FALSE(parse_users(one)->are_all(8, 8));
  CHECK_FALSE(parse_users(one)->are_all(7, 7));
  for (const char* other : {"Uid:\t7\t0\t0\t0\nGid:\t8\t8\t8\t8\n", "Uid:\t7\t7\t0\t7\nGid:\t8\t8\t8\t8\n",
                            "Uid:\t7\t7\t7\t7\nGid:\t8\t8\t0\t8\n"}) {
    const auto users = parse_users("Name:\tx\n" + std::string(other));
    REQUIRE(users);
    CHECK_FALSE(users->are_all(7, 8));
  }
}

TEST_CASE("a malformed status has no user ids") {
  for (const char* text : {"", "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n", "\nUid:\t1\t1\t1\nGid:\t1\t1\t1\t1\n",
                           "\nUid:\t1\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n", "\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1",
                           "\nUid:\t1\t1\t1\t4294967296\nGid:\t1\t1\t1\t1\n", "\nUid:\t-1\t1\t1\t1\nGid:\t1\t1\t1\t1\n",
                           "\nUid:\t1\t1\t1\t1\n"}) {
    CHECK_FALSE(parse_users(text));
  }
}

TEST_CASE("the peer of a socket pair is the process that created it") {
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  const auto peer = peer_credentials(one.get());
  REQUIRE(peer);
  CHECK(peer->pid == ::getpid());
  CHECK(peer->uid == ::geteuid());
  CHECK(peer->gid == ::getegid());
  CHECK_FALSE(peer_credentials(-1));
}
