// Displays the state for `record --top` in lines at the bottom of the terminal. Without a terminal, prints a line
// every 5 s.
#pragma once

#include "cmd/record/bottom_lines.h"
#include "record/live/live_view.h"

namespace gpuprof::cmd {

class TopView final : public record::LiveView {
 public:
  [[nodiscard]] uint64_t interval_ns() const override { return 1'000'000'000; }
  void show(const record::LiveState& state) override;
  void hide() override { lines_.hide(); }
  [[nodiscard]] std::string place(const profile::Tables& tables, const profile::Work& work) const override;

 private:
  void show_line(const record::LiveState& state);
  void remember(const record::LiveState& state);

  BottomLines lines_;
  record::LiveState before_;  // rates are computed from here on
  record::LiveState later_;   // the next value of before_
  uint64_t last_line_ns_ = 0;
};

}  // namespace gpuprof::cmd
