#include "base/text/utf8.h"

#include "catch.h"

using namespace gpuprof;

TEST_CASE("well-formed sequences are recognized by their length") {
  CHECK(utf8_sequence("a") == 1);
  CHECK(utf8_sequence("\xc3\xa9") == 2);
  CHECK(utf8_sequence("\xe2\x82\xac") == 3);
  CHECK(utf8_sequence("\xf0\x9f\x98\x80!") == 4);
}

TEST_CASE("malformed UTF-8 is not a sequence") {
  CHECK(utf8_sequence("") == 0);
  CHECK(utf8_sequence("\x80") == 0);
  CHECK(utf8_sequence("\xff") == 0);
  CHECK(utf8_sequence("\xc3") == 0);              // truncated sequence
  CHECK(utf8_sequence("\xc3(") == 0);             // no continuation byte
  CHECK(utf8_sequence("\xc0\x80") == 0);          // overlong
  CHECK(utf8_sequence("\xe0\x80\xaf") == 0);      // overlong
  CHECK(utf8_sequence("\xed\xa0\x80") == 0);      // surrogate
  CHECK(utf8_sequence("\xf4\x90\x80\x80") == 0);  // beyond U+10FFFF
}

TEST_CASE("control bytes, selected bytes and invalid bytes are escaped") {
  CHECK(escaped("plain text") == "plain text");
  CHECK(escaped(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escaped("a\nb\x7f") == "a\\x0ab\\x7f");
  CHECK(escaped("caf\xc3\xa9 \xff") == "caf\xc3\xa9 \\xff");
  std::string also;
  append_escaped("a;b\\c", ";\\", also);
  CHECK(also == "a\\x3bb\\x5cc");
  CHECK(escaped("") == "");
}

TEST_CASE("the begin of a command for a CI system is escaped") {
  CHECK(escaped("::error::x") == "\\x3a:error::x");
  CHECK(escaped("a ::error::x") == "a \\x3a:error::x");  // the line may be wrapped at the space
  for (const char* const space : {"  ", "\xc2\xa0", "\xe2\x80\x83", "\xe3\x80\x80"}) {
    CHECK(escaped(space + std::string("::x")) == space + std::string("\\x3a:x"));
  }
  CHECK(escaped(":") == "\\x3a");
  CHECK(escaped("a##[group]") == "a\\x23#[group]");
  CHECK(escaped("###[group]") == "#\\x23#[group]");
  CHECK(escaped("a##") == "a\\x23#");
  for (const char* const usual : {"std::vector<a::b>::operator[](int)", "(::a)", "caf\xc3\xa9::b", "a: b", "a : b",
                                  ":a", "EXIT :", "{lambda()#1}::operator()", "# [a]", "#", "C#"}) {
    CHECK(escaped(usual) == usual);
  }
  CHECK(escaped(escaped("::x ##[y]")) == escaped("::x ##[y]"));
}

TEST_CASE("characters that can deceive a terminal are escaped byte by byte") {
  CHECK(escaped("a\xc2\x9b"
                "2Jb") == "a\\xc2\\x9b2Jb");  // C1 control: acts like ESC [ 2 J
  CHECK(escaped("\xe2\x80\xae"
                "evil") == "\\xe2\\x80\\xaeevil");                                 // right-to-left override
  CHECK(escaped("\xe2\x81\xa6\xe2\x80\xa8") == "\\xe2\\x81\\xa6\\xe2\\x80\\xa8");  // isolate, line separator
  CHECK(escaped("\xf3\xa0\x81\x81") == "\\xf3\\xa0\\x81\\x81");                    // tag character
  CHECK(escaped("\xe2\x80\x8d \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\xe2\x80\x8d \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");  // joiner, letters and emoji stay as they are
  CHECK(escaped(escaped("\x1b[2J")) == "\\x1b[2J");              // escaping twice is like escaping once
}

TEST_CASE("a long name is cut in the middle") {
  CHECK(cut_middle("short", 10) == "short");
  CHECK(cut_middle("0123456789", 10) == "0123456789");
  CHECK(cut_middle("0123456789a", 10) == "0123...89a");
  CHECK(cut_middle("0123456789", 3) == "...");
  CHECK(cut_middle("0123456789", 0) == "");
  CHECK(utf8_length(cut_middle("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5)) == 5);
}
