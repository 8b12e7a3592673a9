# The harness's side of every driver in Elixir: replies to commands, hands out requests, verifies and counts responses.
Code.require_file("calls.exs", __DIR__)

defmodule Kit do
  @hello %{
    ok: true, proto: 2, http: ["1.1"], tls: false, keepalive: [true, false], retries: "off", cores: 1,
    verify: ["tail", "json", "none"], methods: ["GET", "HEAD", "OPTIONS", "DELETE"]
  }

  # Replies to commands until `bye`. `open` gets ready and returns `send`, which gives `{:ok, status, body}` or
  # `{:error, kind}` for a URL; `flow` keeps requests in flight; `close` lets go; `calls` are those of an audit (see Calls).
  def run(about, open, flow, close, calls) do
    runtime = "elixir #{System.version()}, erlang/otp #{System.otp_release()}"
    hello = @hello |> Map.merge(%{runtime: runtime, calls: elem(calls, 0)}) |> Map.merge(about)
    loop(%{hello: hello, open: open, flow: flow, close: close, calls: calls, job: nil, send: nil})
  end

  defp loop(state) do
    case IO.read(:stdio, :line) do
      line when is_binary(line) ->
        command = :jiffy.decode(line, [:return_maps])
        {reply, state} = reply(command["cmd"], command, state)
        IO.puts(:jiffy.encode(Map.put(reply, :id, command["id"])))
        if command["cmd"] == "bye", do: System.halt(0), else: loop(state)

      _ended ->
        System.halt(0)
    end
  end

  defp reply("hello", _command, state), do: {state.hello, state}
  defp reply("bye", _command, state), do: {%{ok: true}, state}

  defp reply("call", command, state), do: {Calls.reply(command, state.calls), state}

  defp reply("prepare", command, state) do
    if state.job, do: state.close.()
    {%{ok: true}, %{state | job: command, send: state.open.(command)}}
  end

  defp reply("go", command, state) do
    last = command["first"] + command["count"] - 1
    ids = if command["count"] > 0, do: command["first"]..last, else: []
    outcomes = state.flow.(ids, state.job, &request(&1, rem(&1 - command["first"], command["lat_every"]) == 0, state))
    sums = Enum.reduce(outcomes, %{ok: true, done: 0, errors: 0, errors_by: %{}, bytes: 0, sum: 0, lat_us: %{}}, &count/2)
    {%{sums | lat_us: for({us, count} <- sums.lat_us, do: [us, count])}, state}
  end

  defp reply(other, _command, state), do: {%{ok: false, error: "unsupported", what: other}, state}

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
