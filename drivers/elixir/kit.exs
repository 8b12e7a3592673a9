# The harness's side of every driver in Elixir: answers commands, hands out requests, verifies and counts responses.
defmodule Kit do
  @hello %{
    ok: true, proto: 2, http: ["1.1"], tls: false, keepalive: [true, false], retries: "off", cores: 1,
    verify: ["tail", "json", "none"], methods: ["GET", "HEAD", "OPTIONS", "DELETE"]
  }

  # Answers commands until told to end. `open` gets ready and returns `send`, which gives `{:ok, status, body}` or
  # `{:error, kind}` for a URL; `flow` keeps requests in flight; `close` lets go.
  def run(about, open, flow, close) do
    runtime = "elixir #{System.version()}, erlang/otp #{System.otp_release()}"
    hello = @hello |> Map.put(:runtime, runtime) |> Map.merge(about)
    loop(%{hello: hello, open: open, flow: flow, close: close, job: nil, send: nil})
  end

  defp loop(state) do
    case IO.read(:stdio, :line) do
      line when is_binary(line) ->
        ask = :jiffy.decode(line, [:return_maps])
        {answer, state} = answer(ask["cmd"], ask, state)
        IO.puts(:jiffy.encode(Map.put(answer, :id, ask["id"])))
        if ask["cmd"] == "bye", do: System.halt(0), else: loop(state)

      _ended ->
        System.halt(0)
    end
  end

  defp answer("hello", _ask, state), do: {state.hello, state}
  defp answer("bye", _ask, state), do: {%{ok: true}, state}

  defp answer("prepare", ask, state) do
    if state.job, do: state.close.()
    {%{ok: true}, %{state | job: ask, send: state.open.(ask)}}
  end

  defp answer("go", ask, state) do
    last = ask["first"] + ask["count"] - 1
    ids = if ask["count"] > 0, do: ask["first"]..last, else: []
    outcomes = state.flow.(ids, state.job, &request(&1, rem(&1 - ask["first"], ask["lat_every"]) == 0, state))
    sums = Enum.reduce(outcomes, %{ok: true, done: 0, errors: 0, errors_by: %{}, bytes: 0, sum: 0, lat_us: %{}}, &count/2)
    {%{sums | lat_us: for({us, count} <- sums.lat_us, do: [us, count])}, state}
  end

  defp answer(other, _ask, state), do: {%{ok: false, error: "unsupported", what: other}, state}

  defp request(id, timed, %{job: job, send: send}) do
    began = System.monotonic_time(:nanosecond)
    url = if job["append_id"], do: job["url"] <> Integer.to_string(id), else: job["url"]

    with {:ok, status, body} when status in 200..299 <- send.(url),
         {:ok, check_value} <- check_value(job["verify"], body) do
      {:ok, byte_size(body), check_value, if(timed, do: [bucket(div(System.monotonic_time(:nanosecond) - began, 1000))], else: [])}
    else
      {:ok, status, _body} -> {:error, "status #{status}"}
      {:error, kind} -> {:error, kind}
    end
  end

  defp check_value("none", _body), do: {:ok, 0}
  # What a document is worth: its check value, and the numbers of all its records.
  defp check_value("json", body) do
    with %{"token" => text, "records" => records} <- :jiffy.decode(body, [:return_maps]), {:ok, check_value} <- hex(text) do
      {:ok, Enum.reduce(records, check_value, &(&1["numbers"] + &2))}
    else
      _other -> {:error, "check value"}
    end
  end

  defp check_value("tail", body), do: body |> binary_part(byte_size(body), -min(8, byte_size(body))) |> hex()

  defp hex(text) do
    case Integer.parse(text, 16) do
      {check_value, ""} -> {:ok, check_value}
      _other -> {:error, "check value"}
    end
  end

  # Microseconds to eight significant bits, rounded down.
  defp bucket(us) when us < 256, do: us
  defp bucket(us), do: 2 * bucket(div(us, 2))

  defp count({:ok, bytes, check_value, timed}, sum) do
    total = rem(sum.sum + check_value, 4_294_967_296)
    %{sum | done: sum.done + 1, bytes: sum.bytes + bytes, sum: total, lat_us: Enum.reduce(timed, sum.lat_us, fn us, counts -> Map.update(counts, us, 1, &(&1 + 1)) end)}
  end

  defp count({:error, kind}, sum),
    do: %{sum | errors: sum.errors + 1, errors_by: Map.update(sum.errors_by, kind, 1, &(&1 + 1))}
end
