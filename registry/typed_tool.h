// Typed tools: definition, argument decoding and factory from a C++ function.
//
//   struct SearchArgs { … static auto Describe() { … } };        // see typed_fields.h
//   registrar.Register(MakeTool(
//       ToolSpec("search", "Searches the archive.").Category("network").ReadOnly(),
//       [archive](const SearchArgs& args) -> absl::StatusOr<std::vector<Hit>> { … }));
//
// The function takes any of these, in this order, each at most once:
//  - its arguments: a described struct (by value or const reference), or one std::string or
//    absl::string_view: then it is a plain-text tool with the default schema;
//  - `ToolCall&` (call context, stop token, reporter) or `const CallContext&`;
//  - `ToolReply<R>`: it answers later, from any thread, and returns void. Everything else must be
//    taken by value then: the function returns before the call ends.
// It is called in parallel from several threads, so it must be callable as const, and must not
// block: a function that blocks goes to MakeBlockingTool.
//
// What it returns: void (a result without content); std::string (text); any type of typed_fields.h
// (its JSON as text and as structured_json); v1::ToolResult (as it is); absl::Status or StatusOr of
// these: an error is a result with is_error, TOOL_INVALID_ARGUMENT for INVALID_ARGUMENT,
// TOOL_INTERNAL for INTERNAL, else EXECUTION_FAILED.
#ifndef TOOLRACK_REGISTRY_TYPED_TOOL_H_
#define TOOLRACK_REGISTRY_TYPED_TOOL_H_

#include <atomic>
#include <concepts>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/base/executor.h"
#include "registry/in_process_backend.h"
#include "registry/outcome.h"
#include "registry/tool.h"
#include "registry/typed_fields.h"

namespace toolrack {

// The definition, but for what the function says itself.
class ToolSpec {
 public:
  // Without a description it is `Tool: NAME`.
  explicit ToolSpec(absl::string_view name, absl::string_view description = "");

  ToolSpec& Title(absl::string_view title);
  // Several calls add; without one it is `basic`.
  ToolSpec& Category(absl::string_view category);
  ToolSpec& ReadOnly(bool value = true);
  ToolSpec& Destructive(bool value = true);
  ToolSpec& Idempotent(bool value = true);
  ToolSpec& OpenWorld(bool value = true);
  ToolSpec& Timeout(absl::Duration timeout);
  ToolSpec& MaxConcurrency(uint32_t calls);
  ToolSpec& Example(absl::string_view example);
  ToolSpec& AlwaysLoad();
  // One instance for each session instead of one for all.
  ToolSpec& PerSession();

  const ToolMeta& meta() const { return meta_; }

 private:
  ToolMeta meta_;
};

// The right to answer a call later: once, from any thread; later answers are dropped. Cheap to
// copy. When the last copy goes without an answer the call ends as TOOL_INTERNAL.
template <typename R>
class ToolReply {
 public:
  using Answer = std::conditional_t<std::is_void_v<R>, absl::Status, absl::StatusOr<R>>;

  explicit ToolReply(ToolDone done) : shared_(std::make_shared<Shared>(std::move(done))) {}
  void operator()(Answer answer) const;

 private:
  struct Shared {
    explicit Shared(ToolDone d) : done(std::move(d)) {}
    ToolDone done;
    std::atomic<bool> used{false};
  };
  std::shared_ptr<Shared> shared_;
};

// Results.
v1::ToolResult ResultOfText(std::string text);
v1::ToolResult ResultOfJson(std::string json);
template <typename R>
v1::ToolResult ResultOf(R value) {
  if constexpr (std::same_as<R, v1::ToolResult>) {
    return value;
  } else if constexpr (std::same_as<R, std::string>) {
    return ResultOfText(std::move(value));
  } else if constexpr (std::convertible_to<R, absl::string_view>) {
    return ResultOfText(std::string(absl::string_view(value)));
  } else {
    std::string json;
    JsonType<R>::Encode(value, json);
    return ResultOfJson(std::move(json));
  }
}

namespace typed_internal {

// What a function takes and gives.
template <typename F>
struct SignatureOf {
  static_assert(
      kNeverTrue<F>,
      "toolrack: a typed tool is a function, a lambda or a class with one operator() that "
      "is const and not a template: it is called in parallel.");
};
template <typename R, typename... P>
struct SignatureOf<R (*)(P...)> {
  using Result = R;
  using Parameters = std::tuple<P...>;
};
template <typename R, typename C, typename... P>
struct SignatureOf<R (C::*)(P...) const> : SignatureOf<R (*)(P...)> {};
template <typename R, typename C, typename... P>
struct SignatureOf<R (C::*)(P...) const noexcept> : SignatureOf<R (*)(P...)> {};
template <typename F>
concept HasCall = requires {
  &F::operator();
};
template <HasCall F>
struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};

template <typename P>
struct IsReply : std::false_type {};
template <typename R>
struct IsReply<ToolReply<R>> : std::true_type {
  using Result = R;
};

template <typename P>
inline constexpr bool kIsCall = std::same_as<std::decay_t<P>, ToolCall>;
template <typename P>
inline constexpr bool kIsContext = std::same_as<std::decay_t<P>, CallContext>;
template <typename P>
inline constexpr bool kIsReply = IsReply<std::decay_t<P>>::value;
template <typename P>
inline constexpr bool kIsText =
    std::same_as<std::decay_t<P>, std::string> || std::same_as<std::decay_t<P>, absl::string_view>;
template <typename P>
inline constexpr bool kIsArguments = !kIsCall<P> && !kIsContext<P> && !kIsReply<P>;

// What stands for "no arguments": an empty object.
struct NoArguments {
  static auto Describe() { return Fields(); }
};

template <typename Parameters>
struct ArgumentsIn {
  using type = NoArguments;
};
template <typename P, typename... Rest>
struct ArgumentsIn<std::tuple<P, Rest...>> {
  using type = std::conditional_t<kIsArguments<P>, std::decay_t<P>,
                                  typename ArgumentsIn<std::tuple<Rest...>>::type>;
};
template <>
struct ArgumentsIn<std::tuple<>> {
  using type = NoArguments;
};

template <typename Parameters>
struct ReplyIn {
  using type = void;
};
template <typename P, typename... Rest>
struct ReplyIn<std::tuple<P, Rest...>> {
  using type =
      std::conditional_t<kIsReply<P>, std::decay_t<P>, typename ReplyIn<std::tuple<Rest...>>::type>;
};

template <typename Parameters>
struct Checks;
template <typename... P>
struct Checks<std::tuple<P...>> {
  static constexpr int kArguments = (0 + ... + (kIsArguments<P> ? 1 : 0));
  static constexpr int kReplies = (0 + ... + (kIsReply<P> ? 1 : 0));
  static constexpr bool kAllByValue =
      (true && ... && (!std::is_reference_v<P> && !std::same_as<P, absl::string_view>));
};

template <typename A>
std::string SchemaText() {
  std::string out;
  JsonType<A>::Schema(RulesFor<A>(), SchemaNote(), out);
  return out;
}

// INVALID_ARGUMENT in words: after validation it does not happen.
absl::Status DecodeError(const ToolCall& call, const DecodeFault& fault);
// Of a plain-text tool.
absl::Status DecodeText(const ToolCall& call, std::string& out);

template <typename A>
absl::Status DecodeInto(const ToolCall& call, A& out) {
  if constexpr (std::same_as<A, std::string>) {
    return DecodeText(call, out);
  } else {
    const JsonView value(call.arguments.get());
    const Decoded fault = JsonType<A>::Decode(value, RulesFor<A>(), out);
    return fault == nullptr ? absl::OkStatus() : DecodeError(call, *fault);
  }
}

template <typename T>
struct IsStatusOr : std::false_type {};
template <typename T>
struct IsStatusOr<absl::StatusOr<T>> : std::true_type {};

template <typename R>
absl::StatusOr<v1::ToolResult> Outcome(R result) {
  // A result at once: a status with the details of another call in it is still the tool's own.
  if constexpr (std::same_as<R, absl::Status>) {
    if (!result.ok()) return ResultFromStatus(result);
    return v1::ToolResult();
  } else if constexpr (IsStatusOr<R>::value) {
    if (!result.ok()) return ResultFromStatus(result.status());
    return ResultOf(*std::move(result));
  } else {
    return ResultOf(std::move(result));
  }
}

// A function and everything that is known of it at compile time.
template <typename F>
class Typed {
 public:
  using Signature = SignatureOf<F>;
  using Parameters = typename Signature::Parameters;
  using Given = typename ArgumentsIn<Parameters>::type;
  static constexpr bool kText = kIsText<Given>;
  using Args = std::conditional_t<kText, std::string, Given>;
  using Reply = typename ReplyIn<Parameters>::type;
  static constexpr bool kLater = !std::is_void_v<Reply>;

  static_assert(Checks<Parameters>::kArguments <= 1,
                "toolrack: a typed tool takes one argument struct; put all arguments into it.");
  static_assert(
      kText || DescribedStruct<Args>,
      "toolrack: the arguments of a typed tool are a struct with `static auto Describe()`, "
      "or one std::string.");
  static_assert(Checks<Parameters>::kReplies <= 1, "toolrack: one ToolReply is enough.");
  static_assert(!kLater || std::is_void_v<typename Signature::Result>,
                "toolrack: a tool that answers through its ToolReply returns void.");
  static_assert(!kLater || Checks<Parameters>::kAllByValue,
                "toolrack: a tool that answers later takes its parameters by value: references "
                "would dangle.");

  static ToolMeta Meta(const ToolSpec& spec) {
    ToolMeta meta = spec.meta();
    if constexpr (kText) {
      meta.set_raw_input(true);
    } else {
      meta.set_input_schema(SchemaText<Args>());
    }
    return meta;
  }

  // The whole call, for a function that answers by returning.
  static absl::StatusOr<v1::ToolResult> RunNow(const F& function, ToolCall& call) {
    Args args{};
    absl::Status status = DecodeInto(call, args);
    if (!status.ok()) return status;
    return Apply(function, args, call, static_cast<Parameters*>(nullptr));
  }

  static void RunLater(const F& function, ToolCall call, ToolDone done) {
    Args args{};
    absl::Status status = DecodeInto(call, args);
    if (!status.ok()) return done(std::move(status));
    Hand<Reply> hand{args, call, Reply(std::move(done))};
    ApplyLater(function, hand, static_cast<Parameters*>(nullptr));
  }

 private:
  template <typename ReplyType>
  struct Hand {
    Args& args;
    ToolCall& call;
    ReplyType reply;
  };

  // The call last: it must not be moved from before its context was copied.
  template <typename P>
  static decltype(auto) Supply(Args& args, ToolCall& call) {
    if constexpr (kIsCall<P>) {
      if constexpr (std::is_reference_v<P>) {
        return (call);
      } else {
        return ToolCall(call);
      }
    } else if constexpr (kIsContext<P>) {
      return (call.context);
    } else {
      if constexpr (std::is_reference_v<P> || std::same_as<P, absl::string_view>) {
        return (args);
      } else {
        return std::move(args);
      }
    }
  }
  template <typename P, typename H>
  static decltype(auto) SupplyLater(H& hand) {
    if constexpr (kIsReply<P>) {
      return std::move(hand.reply);
    } else {
      return Supply<P>(hand.args, hand.call);
    }
  }

  template <typename... P>
  static absl::StatusOr<v1::ToolResult> Apply(const F& function, Args& args, ToolCall& call,
                                              std::tuple<P...>*) {
    if constexpr (std::is_void_v<typename Signature::Result>) {
      function(Supply<P>(args, call)...);
      return v1::ToolResult();
    } else {
      return Outcome(function(Supply<P>(args, call)...));
    }
  }
  template <typename H, typename... P>
  static void ApplyLater(const F& function, H& hand, std::tuple<P...>*) {
    function(SupplyLater<P>(hand)...);
  }
};

template <typename F>
class TypedTool : public Tool {
 public:
  explicit TypedTool(F function) : function_(std::move(function)) {}
  void Execute(ToolCall call, ToolDone done) override {
    if constexpr (Typed<F>::kLater) {
      Typed<F>::RunLater(function_, std::move(call), std::move(done));
    } else {
      absl::StatusOr<v1::ToolResult> outcome = Typed<F>::RunNow(function_, call);
      done(std::move(outcome));
    }
  }

 private:
  const F function_;
};

// A method of a shared object as a function.
template <typename C, typename M>
struct Bound;
template <typename C, typename R, typename... P>
struct Bound<C, R (C::*)(P...)> {
  std::shared_ptr<C> object;
  R (C::*method)(P...);
  R operator()(P... parameters) const {
    return (object.get()->*method)(std::forward<P>(parameters)...);
  }
};
template <typename C, typename R, typename... P>
struct Bound<C, R (C::*)(P...) const> {
  std::shared_ptr<C> object;
  R (C::*method)(P...) const;
  R operator()(P... parameters) const {
    return (object.get()->*method)(std::forward<P>(parameters)...);
  }
};

template <typename C>
concept HasState = requires(const C& object) {
  { object.StateJson() } -> std::convertible_to<std::string>;
};

template <typename C, typename M>
class MethodTool : public TypedTool<Bound<C, M>> {
 public:
  MethodTool(std::shared_ptr<C> object, M method)
      : TypedTool<Bound<C, M>>({object, method}), object_(std::move(object)) {}
  std::string StateJson() const override {
    if constexpr (HasState<C>) {
      return object_->StateJson();
    } else {
      return "";
    }
  }

 private:
  std::shared_ptr<C> object_;
};

}  // namespace typed_internal

template <typename R>
void ToolReply<R>::operator()(Answer answer) const {
  if (shared_->used.exchange(true)) return;
  ToolDone done = std::move(shared_->done);
  done(typed_internal::Outcome(std::move(answer)));
}

// From a function. Each instance has a copy of it.
template <typename F>
ToolFactory MakeTool(const ToolSpec& spec, F function) {
  using typed_internal::Typed;
  return [meta = Typed<F>::Meta(spec), function = std::move(function)] {
    return std::pair<ToolMeta, std::shared_ptr<Tool>>(
        meta, std::make_shared<typed_internal::TypedTool<F>>(function));
  };
}

// From a method of an object that several tools may share.
template <typename C, typename M>
requires std::is_member_function_pointer_v<M> ToolFactory MakeTool(const ToolSpec& spec,
                                                                   std::shared_ptr<C> object,
                                                                   M method) {
  using Function = typed_internal::Bound<C, M>;
  return [meta = typed_internal::Typed<Function>::Meta(spec), object = std::move(object), method] {
    return std::pair<ToolMeta, std::shared_ptr<Tool>>(
        meta, std::make_shared<typed_internal::MethodTool<C, M>>(object, method));
  };
}

// From a method of C: each instance has a C of its own. `std::string StateJson() const` of C, when
// there is one, becomes the tool's.
template <std::default_initializable C, typename M>
requires std::is_member_function_pointer_v<M> ToolFactory MakeTool(const ToolSpec& spec, M method) {
  using Function = typed_internal::Bound<C, M>;
  return [meta = typed_internal::Typed<Function>::Meta(spec), method] {
    return std::pair<ToolMeta, std::shared_ptr<Tool>>(
        meta, std::make_shared<typed_internal::MethodTool<C, M>>(std::make_shared<C>(), method));
  };
}

// From a function that blocks: it runs on the executor, which outlives the tool's calls.
template <typename F>
ToolFactory MakeBlockingTool(Executor* executor, const ToolSpec& spec, F function) {
  using typed_internal::Typed;
  static_assert(!Typed<F>::kLater,
                "toolrack: a function that answers later needs no thread to block: MakeTool.");
  return [executor, meta = Typed<F>::Meta(spec), function = std::move(function)] {
    std::shared_ptr<Tool> tool = MakeBlockingTool(
        executor, [function](ToolCall& call) { return Typed<F>::RunNow(function, call); });
    return std::pair<ToolMeta, std::shared_ptr<Tool>>(meta, std::move(tool));
  };
}

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TYPED_TOOL_H_
