#include "registry/builtin/memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr size_t kMaxPrincipals = 10'000;

struct StoreArgs {
  std::string text;
  std::optional<std::string> key;
  std::vector<std::string> tags;
  static auto Describe() {
    return Fields(
        Field("text", &StoreArgs::text,
              "What to remember. An empty text forgets the note with this key."),
        Field("key", &StoreArgs::key,
              "A name to recall it by, e.g. user/birthday. A note with the same key is replaced; "
              "without a key it gets one.")
            .MinLength(1)
            .MaxLength(200),
        Field("tags", &StoreArgs::tags, "Words to find it by.").MaxItems(16).Default({}));
  }
};

struct StoreDone {
  std::string key;
  bool replaced = false, forgotten = false;
  std::optional<std::string> dropped;
  uint64_t notes = 0;
  static auto Describe() {
    return Fields(Field("key", &StoreDone::key, ""),
                  Field("replaced", &StoreDone::replaced, "There was one with this key."),
                  Field("forgotten", &StoreDone::forgotten, "The note is gone."),
                  Field("dropped", &StoreDone::dropped, "The oldest note, which had to go."),
                  Field("notes", &StoreDone::notes, "How many there are now."));
  }
};

struct RecallArgs {
  std::optional<std::string> key, query, tag;
  uint32_t limit = 10;
  static auto Describe() {
    return Fields(
        Field("key", &RecallArgs::key, "The note with this key.").MinLength(1).MaxLength(200),
        Field("query", &RecallArgs::query,
              "Words; notes with more of them come first, then newer ones.")
            .MinLength(1)
            .MaxLength(1000),
        Field("tag", &RecallArgs::tag, "Only notes with this tag.").MinLength(1).MaxLength(200),
        Field("limit", &RecallArgs::limit, "At most so many notes.").Min(1).Max(100).Default(10));
  }
};

struct RecalledNote {
  std::string key, text, stored;
  std::vector<std::string> tags;
  static auto Describe() {
    return Fields(Field("key", &RecalledNote::key, ""), Field("text", &RecalledNote::text, ""),
                  Field("tags", &RecalledNote::tags, ""),
                  Field("stored", &RecalledNote::stored, "When, in UTC."));
  }
};

struct Recalled {
  std::vector<RecalledNote> notes;
  uint64_t left_out = 0;
  static auto Describe() {
    return Fields(Field("notes", &Recalled::notes, ""),
                  Field("left_out", &Recalled::left_out, "Fit, but were over the limit."));
  }
};

absl::StatusOr<StoreDone> Store(Notes& notes, uint64_t max_bytes, const StoreArgs& args,
                                const CallContext& context) {
  StoreDone out;
  if (args.text.empty()) {
    if (!args.key.has_value()) {
      return absl::InvalidArgumentError("`text` is empty. Give a text, or a `key` to forget.");
    }
    if (!notes.Forget(context.principal, *args.key)) {
      return absl::NotFoundError(absl::StrCat("There is no note \"", ForMessage(*args.key),
                                              "\" to forget. See what there is with "
                                              "memory_recall."));
    }
    out.key = *args.key;
    out.forgotten = true;
    return out;
  }
  size_t bytes = args.text.size();
  for (const std::string& tag : args.tags) bytes += tag.size();
  if (bytes > max_bytes) {
    return absl::OutOfRangeError(absl::StrCat("The note has ", bytes,
                                              " bytes with its tags; at most ", max_bytes,
                                              " are kept. Shorten it, or make several notes."));
  }
  Notes::Stored stored =
      notes.Store(context.principal, {args.key.value_or(""), args.text, args.tags, {}});
  out.key = std::move(stored.key);
  out.replaced = stored.replaced;
  out.dropped = std::move(stored.dropped);
  out.notes = stored.notes;
  return out;
}

RecalledNote ToAnswer(Note note) {
  return {std::move(note.key), std::move(note.text),
          absl::FormatTime(absl::RFC3339_sec, note.stored, absl::UTCTimeZone()),
          std::move(note.tags)};
}

absl::StatusOr<Recalled> Recall(Notes& notes, const RecallArgs& args, const CallContext& context) {
  Recalled out;
  if (args.key.has_value()) {
    if (args.query.has_value() || args.tag.has_value()) {
      return absl::InvalidArgumentError("Give a `key`, or a `query` and a `tag`, not both.");
    }
    std::optional<Note> note = notes.Find(context.principal, *args.key);
    if (!note.has_value()) {
      return absl::NotFoundError(absl::StrCat("There is no note \"", ForMessage(*args.key),
                                              "\". Look for it with `query`, or leave all out for "
                                              "the newest notes."));
    }
    out.notes.push_back(ToAnswer(*std::move(note)));
    return out;
  }
  Notes::Found found =
      notes.Search(context.principal, args.query.value_or(""), args.tag.value_or(""), args.limit);
  out.left_out = found.total - found.notes.size();
  for (Note& note : found.notes) out.notes.push_back(ToAnswer(std::move(note)));
  return out;
}

}  // namespace

std::vector<ToolFactory> MakeMemoryTools(const v1::MemoryToolsConfig& config, const Clock* clock,
                                         Executor* executor) {
  if (!config.enabled()) return {};
  const auto notes = std::make_shared<Notes>(clock, config.max_notes(), kMaxPrincipals);
  const uint64_t max_bytes = config.max_note_bytes();
  std::vector<ToolFactory> out;
  out.push_back(MakeTool(
      ToolSpec("memory_store",
               absl::StrCat("Remembers a note for later conversations, yours alone. At most ",
                            config.max_notes(), " notes of ", max_bytes,
                            " bytes; the oldest goes first. They are kept until the tool server "
                            "is started anew."))
          .Category("memory")
          .ReadOnly(false)
          .Destructive()
          .Idempotent(false)
          .OpenWorld(false)
          .Example("remember that I like tea"),
      [notes, max_bytes](const StoreArgs& args, const CallContext& context) {
        return Store(*notes, max_bytes, args, context);
      }));
  // It looks through all notes, which can take a while.
  out.push_back(MakeBlockingTool(
      executor,
      ToolSpec("memory_recall",
               "Gives notes that memory_store remembered: one by its key, those that have some "
               "words, or the newest.")
          .Category("memory")
          .ReadOnly()
          .Idempotent()
          .OpenWorld(false)
          .Example("what do you know about me"),
      [notes](const RecallArgs& args, const CallContext& context) {
        return Recall(*notes, args, context);
      }));
  return out;
}

}  // namespace toolrack
