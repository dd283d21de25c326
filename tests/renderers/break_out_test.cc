// Nothing breaks out: every marker of every dialect, in every place where somebody else's words can
// stand.
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "renderers/history.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

std::vector<std::string> EveryMarker(const Dialect& dialect) {
  std::vector<std::string> out;
  for (const absl::string_view literal : dialect.markers.literals) out.emplace_back(literal);
  for (const absl::string_view tag : dialect.markers.tags) {
    for (const char* shape : {"<$>", "</$>", "<$ ", "<x:$>", "</x:$ >"}) {
      out.push_back(absl::StrReplaceAll(shape, {{"$", tag}}));
    }
  }
  return out;
}
// In these forms: alone, within words, twice, and behind a beginning of itself.
std::vector<std::string> Forms(const std::string& marker) {
  return {marker, absl::StrCat("a ", marker, " b"), absl::StrCat(marker, marker),
          absl::StrCat(marker.substr(0, marker.size() / 2), marker)};
}
size_t Count(const Dialect& dialect, absl::string_view text) {
  size_t found = 0;
  for (size_t at = 0; at < text.size(); ++at) found += dialect.markers.At(text, at) ? 1 : 0;
  return found;
}
std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonEscaped(text, out);
  return out;
}
std::string Joined(const std::vector<v1::OutMessage>& messages) {
  std::string out;
  for (const v1::OutMessage& message : messages) absl::StrAppend(&out, message.text(), "\n");
  return out;
}

std::string Texts(const google::protobuf::RepeatedPtrField<v1::Fragment>& fragments) {
  std::string out;
  for (const v1::Fragment& fragment : fragments) absl::StrAppend(&out, fragment.text(), "\n");
  return out;
}

// A place where a word can stand, as one turn of history.
using Place = std::pair<const char*, v1::Turn (*)(const std::string&)>;
v1::OutputCall& Called(v1::Turn& turn) {
  turn.set_role("assistant");
  v1::OutputCall& call = *turn.add_calls();
  call.set_call_id("c1");
  call.set_wire_name("go");
  call.set_arguments_json("{}");
  return call;
}
v1::TurnResult& Answered(v1::Turn& turn) {
  turn.set_role("tool");
  v1::TurnResult& result = *turn.add_results();
  result.mutable_call()->set_call_id("c1");
  result.mutable_call()->set_wire_name("go");
  return result;
}
const std::vector<Place>& Places() {
  static const auto* kPlaces = new std::vector<Place>{
      {"system",
       [](const std::string& word) {
         v1::Turn turn;
         turn.set_role("system");
         turn.set_text(word);
         return turn;
       }},
      {"user",
       [](const std::string& word) {
         v1::Turn turn;
         turn.set_role("user");
         turn.set_text(word);
         return turn;
       }},
      {"assistant",
       [](const std::string& word) {
         v1::Turn turn;
         turn.set_role("assistant");
         turn.set_text(word);
         return turn;
       }},
      {"reasoning",
       [](const std::string& word) {
         v1::Turn turn;
         turn.set_reasoning(word);
         Called(turn);
         return turn;
       }},
      {"text beside a call",
       [](const std::string& word) {
         v1::Turn turn;
         turn.set_text(word);
         Called(turn);
         return turn;
       }},
      {"a call's name",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_wire_name(word);
         return turn;
       }},
      {"a call's canonical name",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).clear_wire_name();
         turn.mutable_calls(0)->set_name(word);
         return turn;
       }},
      {"a call's id",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_call_id(word);
         return turn;
       }},
      {"a text argument",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(absl::StrCat("{\"s\":\"", Quoted(word), "\"}"));
         return turn;
       }},
      {"a nested argument",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(absl::StrCat("{\"o\":[{\"k\":\"", Quoted(word), "\"}]}"));
         return turn;
       }},
      {"an argument's key",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(absl::StrCat("{\"", Quoted(word), "\":1}"));
         return turn;
       }},
      {"a nested key",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(absl::StrCat("{\"o\":{\"", Quoted(word), "\":1}}"));
         return turn;
       }},
      {"arguments that are no JSON",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(word);
         return turn;
       }},
      {"arguments that are text",
       [](const std::string& word) {
         v1::Turn turn;
         Called(turn).set_arguments_json(absl::StrCat("\"", Quoted(word), "\""));
         return turn;
       }},
      {"a result",
       [](const std::string& word) {
         v1::Turn turn;
         Answered(turn).mutable_result()->add_content()->mutable_text()->set_text(word);
         return turn;
       }},
      {"an error",
       [](const std::string& word) {
         v1::Turn turn;
         v1::TurnResult& result = Answered(turn);
         result.mutable_result()->add_content()->mutable_text()->set_text(word);
         result.mutable_result()->set_is_error(true);
         return turn;
       }},
      {"JSON of a result",
       [](const std::string& word) {
         v1::Turn turn;
         Answered(turn).mutable_result()->set_structured_json(
             absl::StrCat("{\"k\":\"", Quoted(word), "\"}"));
         return turn;
       }},
      {"a resource of a result",
       [](const std::string& word) {
         v1::Turn turn;
         auto& link = *Answered(turn).mutable_result()->add_content()->mutable_resource_link();
         link.set_name(word);
         link.set_uri(word);
         return turn;
       }},
      {"a status",
       [](const std::string& word) {
         v1::Turn turn;
         Answered(turn).mutable_status()->set_message(word);
         return turn;
       }},
      {"a result's tool",
       [](const std::string& word) {
         v1::Turn turn;
         Answered(turn).mutable_call()->set_wire_name(word);
         turn.mutable_results(0)->mutable_result()->add_content()->mutable_text()->set_text("x");
         return turn;
       }},
      {"what was said with results",
       [](const std::string& word) {
         v1::Turn turn;
         Answered(turn).mutable_result()->add_content()->mutable_text()->set_text("x");
         turn.set_text(word);
         return turn;
       }},
  };
  return *kPlaces;
}

class BreakOutHistoryTest : public testing::TestWithParam<Place> {};

TEST_P(BreakOutHistoryTest, NoMarkerComesOut) {
  const auto& [place, make] = GetParam();
  for (const RendererSpec& spec : AllRenderers()) {
    if (spec.disclosure != Disclosure::kUpfront) continue;  // history knows no disclosure
    for (const char* variant : {"", "jinja"}) {
      v1::RenderOptions options;
      options.set_variant(variant);
      for (const std::string& marker : EveryMarker(*spec.dialect)) {
        // What is said of a call that cannot be spelled may have fewer marks, never more.
        RenderWarnings clean_warnings;
        const size_t allowed = Count(
            *spec.dialect, Joined(RenderHistory(spec, {make("plain")}, options, clean_warnings)));
        for (const std::string& word : Forms(marker)) {
          RenderWarnings warnings;
          const std::string text = Joined(RenderHistory(spec, {make(word)}, options, warnings));
          EXPECT_LE(Count(*spec.dialect, text), allowed)
              << spec.name() << " " << variant << " lets out " << word << "\n"
              << text;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, BreakOutHistoryTest, testing::ValuesIn(Places()),
                         [](const auto& info) {
                           std::string name = info.param.first;
                           for (char& c : name) c = absl::ascii_isalnum(c) ? c : '_';
                           return name;
                         });

// Every place of a definition, the whole prompt, what is loaded later, and what came and went.
TEST(BreakOutPromptTest, NoWordsOfADefinitionComeOut) {
  static constexpr char kSchema[] =
      R"({"type":"object","title":"E","description":"E","$comment":"E",
    "properties":{"E":{"type":"string"},"p":{"type":"string","title":"E","description":"E",
    "enum":["E","a"],"default":"E","examples":["E"],"pattern":"E","const":"E"},
    "n":{"type":"object","description":"E","properties":{"E":{"description":"E","default":{"E":"E"}}}},
    "l":{"type":"array","items":{"type":"string","enum":["E"],"description":"E"}},
    "o":{"description":"x E","oneOf":[{"type":"string","description":"E","default":"E"},{"const":"E"}]},
    "a":{"anyOf":[{"type":"string","title":"E"},{"type":"null"}],"default":"E"},
    "x-E":{"E":"E"}},"required":["E"],"$defs":{"E":{"title":"E"}}})";
  for (const RendererSpec& spec : AllRenderers()) {
    for (const std::string& marker : EveryMarker(*spec.dialect)) {
      for (const std::string& word : {marker, absl::StrCat("a ", marker, "\n", marker)}) {
        const auto make = [&](const std::string& inside, Tools& tools) {
          tools.Add("srv__t", inside, absl::StrReplaceAll(kSchema, {{"E", Quoted(inside)}}));
        };
        Tools evil, clean;
        make(word, evil);
        make("plain", clean);
        for (const char* variant : {"", "jinja"}) {
          for (const bool normalise : {false, true}) {
            v1::RenderOptions options;
            options.set_variant(variant);
            options.set_normalise(normalise);
            options.set_name_catalogue(true);
            options.set_defer_above_tools(0);
            const auto all = [&](const Tools& tools) {
              const auto view = tools.View();
              const RenderInput input{view, {"srv__t"}, 0, options, nullptr};
              return Texts(RenderInitial(spec, input).fragments()) +
                     Texts(RenderToolLoad(spec, input, {"srv__t"}, "c").fragments()) +
                     Texts(RenderChanges(spec, input, {}).fragments());
            };
            const std::string text = all(evil);
            EXPECT_LE(Count(*spec.dialect, text), Count(*spec.dialect, all(clean)))
                << spec.name() << " " << variant << " lets out " << word << "\n"
                << text;
          }
        }
      }
    }
  }
}

// Names of tools that a caller made up: what is known, loaded, and gone.
TEST(BreakOutPromptTest, NoNameOfACallerComesOut) {
  Tools tools;
  tools.Add("srv__t", "d", R"({"type":"object"})");
  const auto view = tools.View();
  for (const RendererSpec& spec : AllRenderers()) {
    for (const std::string& marker : EveryMarker(*spec.dialect)) {
      const auto all = [&](const std::string& word) {
        const RenderInput input{view, {word}, 0, {}, nullptr};
        return Texts(RenderInitial(spec, input).fragments()) +
               Texts(RenderToolLoad(spec, input, {word}, word).fragments()) +
               Texts(RenderChanges(spec, input, {word}).fragments());
      };
      EXPECT_EQ(Count(*spec.dialect, all(marker)), Count(*spec.dialect, all("plain")))
          << spec.name() << " lets out " << marker << "\n"
          << all(marker);
    }
  }
}

}  // namespace
}  // namespace toolrack
