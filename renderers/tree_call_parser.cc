// Calls as a tree of elements: `<invoke name="f">`, below it one element for each argument, named
// as it, objects as elements within, lists as `<item>`s; before each tag a token of the family's
// own.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "renderers/family_engines.h"
#include "renderers/family_parser.h"
#include "renderers/json_text.h"
#include "renderers/value_codec.h"

namespace toolrack {
namespace {

constexpr size_t kMaxTag = 512;
constexpr size_t kMaxDepth = 64;

class TreeCallParser final : public FamilyParser {
 public:
  TreeCallParser(const OfferedTools& offered, OutputSink& sink)
      : FamilyParser(offered, sink),
        open_(absl::StrCat(format_.tags.affix, "<")),
        call_(absl::StrCat(open_, "invoke name=\"")) {}

 private:
  enum Own { kCallOpen = kOwn, kTag };

  struct Element {
    std::string name;
    std::optional<JsonText> schema;  // an object whose property `name` is this one's
    bool children = false;
    bool list = false;
    std::string text;
  };

  absl::string_view OwnFirsts() const override {
    return open_.empty() ? "" : absl::string_view(open_).substr(0, 1);
  }
  bool WantsMarkers() const override { return true; }

  Match OwnMatch(absl::string_view rest) const override {
    const absl::string_view wanted =
        in_body() ? absl::string_view(open_) : absl::string_view(call_);
    if (!absl::StartsWith(rest, wanted)) {
      return {absl::StartsWith(wanted, rest) ? Match::Kind::kMore : Match::Kind::kNo};
    }
    const size_t end = rest.find('>', open_.size());
    if (end == absl::string_view::npos) {
      return {rest.size() < kMaxTag ? Match::Kind::kMore : Match::Kind::kNo};
    }
    if (end >= kMaxTag) return {};
    const int id = absl::StartsWith(rest, call_) ? kCallOpen : kTag;
    if (in_body() && id == kCallOpen && elements_.size() > 1) return {};
    return {Match::Kind::kYes, id, end + 1};
  }

  void Begin(absl::string_view raw) override {
    absl::string_view name = raw;
    name.remove_prefix(std::min(name.size(), call_.size()));
    name = name.substr(0, name.find('"'));
    const v1::Tool* tool = offered_.Find(name);
    bad_.clear();
    elements_.clear();
    Open(name, tool);
    Raw(raw);
    Element root;
    if (tool != nullptr) root.schema = ParseJsonText(tool->input_schema());
    root.children = true;
    elements_.push_back(std::move(root));
    first_ = true;
    EmitArguments("{");
  }

  void OwnMarker(int id, absl::string_view raw) override {
    if (!in_body()) {
      if (!in_section()) Repair("missing_opener");
      Enter(raw);
      return;
    }
    if (id == kCallOpen) {
      Repair("missing_closer");
      EndCall();
      Enter(raw);
      return;
    }
    Raw(raw);
    absl::string_view name = raw.substr(open_.size(), raw.size() - open_.size() - 1);
    if (!absl::ConsumePrefix(&name, "/")) {
      BeginElement(std::string(absl::StripAsciiWhitespace(name)));
      return;
    }
    name = absl::StripAsciiWhitespace(name);
    if (name == "invoke" && elements_.size() == 1) {
      EndCall();
      return;
    }
    // What was left open within ends, too.
    size_t at = elements_.size();
    while (at > 1 && elements_[at - 1].name != name) --at;
    if (at == 1) {
      if (name != "invoke") {
        Repair("stray_closer");
        return;
      }
      Repair("missing_closer");
      while (elements_.size() > 1) EndElement();
      EndCall();
      return;
    }
    if (at < elements_.size()) Repair("missing_closer");
    while (elements_.size() >= at && elements_.size() > 1) EndElement();
  }

  void BeginElement(const std::string& name) {
    if (elements_.size() >= kMaxDepth) {
      bad_ = "nested too deeply";
      return;
    }
    Element& parent = elements_.back();
    if (!parent.children) {
      parent.children = true;
      parent.list = name == "item";
      if (!absl::StripAsciiWhitespace(parent.text).empty()) {
        bad_ = "text stands beside the elements of a value";
      }
      EmitArguments(parent.list ? "[" : "{");
      first_ = true;
    }
    Element child;
    child.name = name;
    if (parent.schema) {
      child.schema = parent.list ? ItemSchema(*parent.schema) : ObjectSchema(parent);
    }
    std::string head = first_ ? "" : ", ";
    if (!parent.list) {
      AppendJsonString(name, head);
      head += ": ";
    }
    EmitArguments(head);
    first_ = false;
    elements_.push_back(std::move(child));
  }

  // `schema` holds this one's own schema as a property; the root's is the schema itself.
  std::optional<JsonText> ObjectSchema(const Element& parent) const {
    if (elements_.size() == 1) return *parent.schema;
    const JsonText* own = Own(parent);
    return own == nullptr ? std::optional<JsonText>() : *own;
  }
  static const JsonText* Own(const Element& element) {
    const JsonText* properties = element.schema->Find("properties");
    return properties == nullptr ? nullptr : properties->Find(element.name);
  }
  std::optional<JsonText> ItemSchema(const JsonText&) const {
    const JsonText* own = Own(elements_.back());
    const JsonText* items = own == nullptr ? nullptr : own->Find("items");
    if (items == nullptr) return std::nullopt;
    return JsonText::Object({{"properties", JsonText::Object({{"item", *items}})}});
  }

  void EndElement() {
    Element element = std::move(elements_.back());
    elements_.pop_back();
    first_ = false;
    if (element.children) {
      EmitArguments(element.list ? "]" : "}");
      return;
    }
    const AllowedTypes types =
        element.schema ? TypesOfProperty(*element.schema, element.name) : AllowedTypes();
    if (element.text.empty() && !types.string && (types.array || types.object)) {
      EmitArguments(types.array ? "[]" : "{}");
      return;
    }
    bool repaired = false;
    EmitArguments(DecodeValue(types, element.text, repaired));
    if (repaired) Repair("python_literal");
  }

  void EndCall() {
    EmitArguments("}");
    if (bad_.empty()) {
      CloseMade(true);
    } else {
      CloseBad(absl::StrCat(bad_, "; write the whole call again"));
    }
    Leave(false);
    if (candidate()) Accept();
  }

  size_t Body(absl::string_view text) override {
    Raw(text);
    if (elements_.size() > 1) {
      absl::StrAppend(&elements_.back().text, text);
    } else if (!absl::StripAsciiWhitespace(text).empty()) {
      bad_ = "text stands between the elements of the call";
    }
    return text.size();
  }

  void BodyMarker(int role, absl::string_view raw) override {
    if (elements_.size() > 1 && role != kSectionClose) {
      Body(raw);
      return;
    }
    Repair("missing_closer");
    while (elements_.size() > 1) EndElement();
    EndCall();
    BetweenMarker(role, raw);
  }

  void BodyEnds() override {
    if (candidate()) return Reject();
    if (!open()) return;
    if (bad_.empty()) {
      CloseMade(false);
    } else {
      CloseBad(bad_);
    }
  }

  const std::string open_, call_;
  std::vector<Element> elements_;
  bool first_ = true;
  std::string bad_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeTreeCallParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<TreeCallParser>(offered, sink);
}

}  // namespace toolrack
