# httpc: Erlang's own client; `sync` requests one URL after the other, `async` keeps a Task for each request in flight.
Code.require_file("kit.exs", __DIR__)

defmodule Httpc do
  @profile :driver

  def open(job, tuned) do
    {:ok, _pid} = :inets.start(:httpc, profile: @profile)
    # Its documentation names 2 connections of a host, and of 5 requests that may wait for each, by default.
    if tuned, do: :httpc.set_options([max_sessions: job["concurrency"], max_keep_alive_length: 0], @profile)
    method = job["method"] |> String.downcase() |> String.to_atom()
    close = if job["keepalive"], do: [], else: [{'connection', 'close'}]
    accept = if job["verify"] == "json", do: [{'accept', 'application/json'}], else: []
    options = [timeout: job["timeout_ms"], autoredirect: false]
    fn url -> request(method, {String.to_charlist(url), close ++ accept}, options) end
  end

  defp request(method, request, options) do
    case :httpc.request(method, request, options, [body_format: :binary], @profile) do
      {:ok, {{_version, status, _reason}, _headers, body}} -> {:ok, status, body}
      {:error, reason} -> {:error, inspect(if is_tuple(reason), do: elem(reason, 0), else: reason)}
    end
  end

  # A call of an audit, and a new profile for it: with cookies, because a case may need them.
  def renew(tuned) do
    :inets.stop(:httpc, @profile)
    {:ok, _pid} = :inets.start(:httpc, profile: @profile)
    if tuned, do: :httpc.set_options([max_sessions: 100, max_keep_alive_length: 0], @profile)
    :httpc.set_options([cookies: :enabled], @profile)
  end

  def make(call) do
    {url, fields} = {String.to_charlist(call["url"]), for({name, value} <- call["fields"], do: {String.to_charlist(name), String.to_charlist(value)})}
    request = if call["body"] || call["method"] in ["POST", "PUT"], do: {url, fields, 'text/plain', call["body"] || ""}, else: {url, fields}
    options = [timeout: call["timeout_ms"], autoredirect: call["follow"] != false]
    method = call["method"] |> String.downcase() |> String.to_atom()
    with {:error, kind} <- request(method, request, options), do: {:error, kind, kind}
  end

  def close, do: :inets.stop(:httpc, @profile)
  def sync(ids, _job, request), do: Stream.map(ids, request)

  def async(ids, job, request) do
    limits = [max_concurrency: job["concurrency"], ordered: false, timeout: :infinity]
    ids |> Task.async_stream(request, limits) |> Stream.map(fn {:ok, outcome} -> outcome end)
  end
end

:ok = Application.ensure_started(:inets)
{:ok, version} = :application.get_key(:inets, :vsn)
[mode | tuned] = System.argv()
{flow, most} = if mode == "sync", do: {&Httpc.sync/3, 1}, else: {&Httpc.async/3, 1000}
name = Enum.join(["httpc", mode | tuned], "-")
about = %{name: name, version: to_string(version), engine: "inets", models: [mode], max_concurrency: most}
if tuned == ["--version"], do: IO.puts(version), else: Kit.run(about, &Httpc.open(&1, tuned != []), flow, &Httpc.close/0, {~w[method body fields timeout redirects cookies userinfo raw-url raw-method], fn -> Httpc.renew(tuned != []) end, &Httpc.make/1})
